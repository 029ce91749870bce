/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: cuStream* that create, query, order and wait for them. */
#include <stdlib.h>

#include "capture.h"
#include "scope.h"
#include "sim_cuda.h"
#include "stream_event.h"
#include "sync_point.h"

enum { PRIORITY_GREATEST = -5, PRIORITY_LEAST = 0 };

CUresult sim_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
        struct context *context;
        struct stream *stream;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!phStream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
                return CUDA_ERROR_INVALID_VALUE;
        if (priority < PRIORITY_GREATEST)
                priority = PRIORITY_GREATEST;
        if (priority > PRIORITY_LEAST)
                priority = PRIORITY_LEAST;
        r = stream_new(context, flags, priority, &stream);
        if (r == CUDA_SUCCESS)
                *phStream = (CUstream)stream;
        return r;
}

CUresult sim_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
        return sim_cuStreamCreateWithPriority(phStream, Flags, 0);
}

CUresult sim_cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                    int priority)
{
        struct context *context = context_get((CUcontext)greenCtx);
        struct stream *stream;
        CUresult r;

        if (!phStream || flags != CU_STREAM_NON_BLOCKING)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context || !context->is_green)
                return CUDA_ERROR_INVALID_CONTEXT;
        r = stream_new(context, flags, priority, &stream);
        if (r == CUDA_SUCCESS)
                *phStream = (CUstream)stream;
        return r;
}

static bool handle_is_default(CUstream handle)
{
        return (uintptr_t)handle <= (uintptr_t)CU_STREAM_PER_THREAD;
}

CUresult sim_cuStreamDestroy_v2(CUstream hStream)
{
        struct stream *stream;
        CUresult r;

        if (handle_is_default(hStream))
                return CUDA_ERROR_INVALID_HANDLE;
        r = stream_get(hStream, &stream);
        if (r != CUDA_SUCCESS)
                return r;
        stream_free(stream);
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamDestroy(CUstream hStream)
{
        return sim_cuStreamDestroy_v2(hStream);
}

CUresult sim_cuStreamQuery(CUstream hStream)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (capture_is_active(stream))
                return capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        r = (CUresult)atomic_load(&stream->context->error);
        if (r != CUDA_SUCCESS)
                return r;
        return stream_is_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult sim_cuStreamSynchronize(CUstream hStream)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (capture_is_active(stream))
                return capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        r = stream_wait(stream);
        sync_point_reached();
        return r;
}

CUresult sim_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
        struct event *event = event_get(hEvent);
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!event)
                return CUDA_ERROR_INVALID_HANDLE;
        if (Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
                return CUDA_ERROR_INVALID_VALUE;
        if (capture_is_active(stream) || event_is_captured(event))
                return capture_wait_event(stream, event, Flags & CU_EVENT_WAIT_EXTERNAL);
        return event_join(event, stream);
}

CUresult sim_cuStreamGetPriority(CUstream hStream, int *priority)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!priority)
                return CUDA_ERROR_INVALID_VALUE;
        *priority = stream->priority;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!flags)
                return CUDA_ERROR_INVALID_VALUE;
        *flags = stream->flags;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!streamId)
                return CUDA_ERROR_INVALID_VALUE;
        *streamId = stream->number;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!device)
                return CUDA_ERROR_INVALID_VALUE;
        *device = stream->context->device->ordinal;
        return CUDA_SUCCESS;
}

/* A stream of a green context belongs to the device's primary context, too. */
static struct context *stream_plain_context(const struct stream *stream)
{
        struct context *context = stream->context;

        return context->is_green ? context->device->primary : context;
}

CUresult sim_cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!pctx)
                return CUDA_ERROR_INVALID_VALUE;
        *pctx = (CUcontext)stream_plain_context(stream);
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!pCtx || !pGreenCtx)
                return CUDA_ERROR_INVALID_VALUE;
        *pCtx = stream->context->is_green ? NULL : (CUcontext)stream->context;
        *pGreenCtx = stream->context->is_green ? (CUgreenCtx)stream->context : NULL;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!phCtx)
                return CUDA_ERROR_INVALID_VALUE;
        *phCtx = stream->context->is_green ? (CUgreenCtx)stream->context : NULL;
        return CUDA_SUCCESS;
}
