/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, as far as compute is limited: who waits for one has its work measured up to there. */
#include "batch.h"
#include "real.h"

CUresult hook_cuStreamSynchronize(cuStreamSynchronize_fn *real, CUstream stream)
{
        batch_end(batch_stream(stream, real == real_cuda.cuStreamSynchronize_ptsz));
        CUresult r = real(stream);
        batch_harvest();
        return r;
}

/* A program that polls will hardly submit more before the work is done. */
CUresult hook_cuStreamQuery(cuStreamQuery_fn *real, CUstream stream)
{
        const CUresult r = real(stream);

        if (r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY)
                batch_end(batch_stream(stream, real == real_cuda.cuStreamQuery_ptsz));
        if (r == CUDA_SUCCESS)
                batch_harvest();
        return r;
}

CUresult hook_cuStreamDestroy_v2(cuStreamDestroy_v2_fn *real, CUstream stream)
{
        batch_stream_ends(stream);
        return real(stream);
}

CUresult hook_cuStreamDestroy(cuStreamDestroy_fn *real, CUstream stream)
{
        return hook_cuStreamDestroy_v2((cuStreamDestroy_v2_fn *)real, stream);
}
