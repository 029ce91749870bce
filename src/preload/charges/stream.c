/* SPDX-License-Identifier: Apache-2.0 */
/* stream: capture and context. */
#include "stream.h"

#include "real.h"

/* Handles that stand for a stream of whichever context is current. */
static bool is_default(CUstream stream)
{
        return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* The legacy stream cannot be captured. */
bool stream_is_captured(CUstream stream)
{
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

        return stream && stream != CU_STREAM_LEGACY && real_cuda.cuStreamIsCapturing &&
               real_cuda.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
               status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

bool stream_push_context(CUstream stream)
{
        CUcontext own = NULL, current = NULL;

        if (is_default(stream) || !real_cuda.cuStreamGetCtx ||
            real_cuda.cuStreamGetCtx(stream, &own) != CUDA_SUCCESS || !own)
                return false;
        real_cuda.cuCtxGetCurrent(&current);
        return own != current && real_cuda.cuCtxPushCurrent_v2(own) == CUDA_SUCCESS;
}
