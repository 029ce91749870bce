/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a whole context: cuCtxRecordEvent and cuCtxWaitEvent, and the same of green contexts. */
#include "scope.h"
#include "sim_cuda.h"
#include "stream_event.h"
#include "work_lock.h"

enum { STREAMS_AT_ONCE = 64 };

/* Some of the context's streams, from the `skip`-th on. */
static unsigned streams_list(const struct context *context, unsigned skip, struct stream **list)
{
        autounlock pthread_mutex_t *held = scope_lock(&work_lock);
        unsigned count = 0;

        for (struct stream *s = context->streams; s && count < STREAMS_AT_ONCE; s = s->next) {
                if (skip)
                        skip--;
                else
                        list[count++] = s;
        }
        return count;
}

/* `stream` waits for all that was given to the context so far. */
static CUresult stream_follow_all(struct stream *stream, struct context *context)
{
        struct stream *list[STREAMS_AT_ONCE + 1] = { context->legacy };
        unsigned count = 1 + streams_list(context, 0, list + 1), skip = 0;
        CUresult r = CUDA_SUCCESS;

        while (count) {
                for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++) {
                        struct mark mark;

                        if (list[i] == stream)
                                continue;
                        work_mark(list[i], &mark);
                        r = work_join(stream, &mark);
                        mark_done(&mark);
                }
                skip += STREAMS_AT_ONCE;
                count = streams_list(context, skip, list);
        }
        return r;
}

static CUresult context_record(struct context *context, CUevent handle)
{
        struct event *event = event_get(handle);
        struct stream *gather;
        CUresult r;

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        if (!event || event->context->device != context->device)
                return CUDA_ERROR_INVALID_HANDLE;
        r = stream_new(context, CU_STREAM_NON_BLOCKING, 0, &gather);
        if (r != CUDA_SUCCESS)
                return r;
        r = stream_follow_all(gather, context);
        if (r == CUDA_SUCCESS)
                r = event_record(event, gather);
        stream_free(gather);
        return r;
}

static CUresult context_follow(struct context *context, CUevent handle)
{
        struct event *event = event_get(handle);
        struct stream *list[STREAMS_AT_ONCE];
        unsigned count, skip = 0;
        CUresult r;

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        if (!event)
                return CUDA_ERROR_INVALID_HANDLE;
        r = event_join(event, context->legacy);
        do {
                count = streams_list(context, skip, list);
                for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++)
                        r = event_join(event, list[i]);
                skip += count;
        } while (count == STREAMS_AT_ONCE);
        return r;
}

CUresult sim_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
        return context_record(hCtx ? context_get(hCtx) : context_current(), hEvent);
}

CUresult sim_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
        return context_follow(hCtx ? context_get(hCtx) : context_current(), hEvent);
}

CUresult sim_cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
        return context_record(hCtx ? context_get((CUcontext)hCtx) : NULL, hEvent);
}

CUresult sim_cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
        return context_follow(hCtx ? context_get((CUcontext)hCtx) : NULL, hEvent);
}
