/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions in streams: cuLaunchHostFunc and cuStreamAddCallback. */
#include <stdlib.h>

#include "capture.h"
#include "sim_cuda.h"
#include "work.h"

struct callback {
        CUstream handle; /* as the caller named the stream */
        struct context *context;
        CUstreamCallback call;
        void *user;
};

static void callback_run(void *closure)
{
        struct callback *callback = closure;

        callback->call(callback->handle, (CUresult)atomic_load(&callback->context->error),
                       callback->user);
        free(callback);
}

CUresult sim_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                 unsigned int flags)
{
        struct callback *closure;
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!callback || flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (capture_is_active(stream))
                return capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        closure = malloc(sizeof *closure);
        if (!closure)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *closure = (struct callback){ hStream, stream->context, callback, userData };
        r = work_submit_host(stream, callback_run, closure, NULL);
        if (r != CUDA_SUCCESS)
                free(closure);
        return r;
}

CUresult sim_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!fn)
                return CUDA_ERROR_INVALID_VALUE;
        if (capture_is_active(stream))
                return capture_add_host(stream, fn, userData);
        return work_submit_host(stream, fn, userData, NULL);
}
