/* SPDX-License-Identifier: Apache-2.0 */
/* Events: recorded in streams, waited for, and measured. */
#include "stream_event.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "kernel_print.h"
#include "scope.h"
#include "sim_cuda.h"
#include "sync_point.h"

enum { EVENT_FLAGS = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS };

static struct {
        pthread_mutex_t lock;
        struct event *free;
} stream_event = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct event *event_get(CUevent handle)
{
        struct event *event = (struct event *)handle;

        return event && event->magic == EVENT_MAGIC ? event : NULL;
}

static struct event *event_take(void)
{
        struct event *event;

        pthread_mutex_lock(&stream_event.lock);
        event = stream_event.free;
        if (event)
                stream_event.free = event->next;
        pthread_mutex_unlock(&stream_event.lock);
        if (event)
                return event;
        event = calloc(1, sizeof *event);
        if (event)
                pthread_mutex_init(&event->lock, NULL);
        return event;
}

static void event_forget(struct event *event)
{
        if (event->is_recorded)
                mark_done(&event->mark);
        free(event->capture.nodes);
        event->is_recorded = false;
        event->mark = (struct mark){ 0 };
        event->capture = (struct event_capture){ 0 };
}

CUresult event_record(struct event *event, struct stream *stream)
{
        autounlock pthread_mutex_t *held = scope_lock(&event->lock);

        event_forget(event);
        work_mark(stream, &event->mark);
        /* The event itself travels to the GPU like a launch does. */
        event->record_ns = machine_now_ns(&driver.machine) + driver.machine.file->header.launch_ns;
        event->is_recorded = true;
        return event->share.row ? event_share_record(&event->share, stream->context, &event->mark)
                                : CUDA_SUCCESS;
}

CUresult event_export(struct event *event)
{
        autounlock pthread_mutex_t *held = scope_lock(&event->lock);
        CUresult r;

        if (event->share.row)
                return CUDA_SUCCESS;
        r = event_share_new(&event->share, event->context->device);
        if (r == CUDA_SUCCESS && event->is_recorded)
                r = event_share_record(&event->share, event->context, &event->mark);
        return r;
}

bool event_is_captured(struct event *event)
{
        autounlock pthread_mutex_t *held = scope_lock(&event->lock);

        return event->capture.session != 0;
}

void event_set_capture(struct event *event, uint64_t session, struct node **nodes, size_t count)
{
        autounlock pthread_mutex_t *held = scope_lock(&event->lock);

        event_forget(event);
        event->capture = (struct event_capture){ session, count, nodes };
}

CUresult event_join(struct event *event, struct stream *stream)
{
        autounlock pthread_mutex_t *held = scope_lock(&event->lock);

        if (event->share.row)
                return event_share_join(&event->share, stream);
        /* An event that was never recorded holds nobody up. */
        return event->is_recorded ? work_join(stream, &event->mark) : CUDA_SUCCESS;
}

CUresult sim_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
        struct context *context;
        struct event *event;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!phEvent || (Flags & ~(unsigned)EVENT_FLAGS))
                return CUDA_ERROR_INVALID_VALUE;
        if ((Flags & CU_EVENT_INTERPROCESS) && !(Flags & CU_EVENT_DISABLE_TIMING))
                return CUDA_ERROR_INVALID_VALUE;
        event = event_take();
        if (!event)
                return CUDA_ERROR_OUT_OF_MEMORY;
        event->flags = Flags;
        event->context = context;
        event->magic = EVENT_MAGIC;
        *phEvent = (CUevent)event;
        return CUDA_SUCCESS;
}

CUresult sim_cuEventDestroy_v2(CUevent hEvent)
{
        struct event *event = event_get(hEvent);

        if (!event)
                return CUDA_ERROR_INVALID_HANDLE;
        pthread_mutex_lock(&event->lock);
        event_forget(event);
        event_share_done(&event->share);
        event->magic = 0;
        pthread_mutex_unlock(&event->lock);
        pthread_mutex_lock(&stream_event.lock);
        event->next = stream_event.free;
        stream_event.free = event;
        pthread_mutex_unlock(&stream_event.lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuEventDestroy(CUevent hEvent)
{
        return sim_cuEventDestroy_v2(hEvent);
}

CUresult sim_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
        struct event *event = event_get(hEvent);
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!event)
                return CUDA_ERROR_INVALID_HANDLE;
        if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
                return CUDA_ERROR_INVALID_VALUE;
        if (event->context->device != stream->context->device)
                return CUDA_ERROR_INVALID_HANDLE;
        if (capture_is_active(stream))
                return capture_record_event(stream, event, flags & CU_EVENT_RECORD_EXTERNAL);
        r = (CUresult)atomic_load(&stream->context->error);
        return r == CUDA_SUCCESS ? event_record(event, stream) : r;
}

CUresult sim_cuEventRecord(CUevent hEvent, CUstream hStream)
{
        return sim_cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

/* A reference to the mark, or NOT_FOUND when it was never recorded. */
static CUresult event_copy_mark(struct event *event, struct mark *ret_mark)
{
        autounlock pthread_mutex_t *held = scope_lock(&event->lock);

        if (event->capture.session)
                return CUDA_ERROR_CAPTURED_EVENT;
        if (!event->is_recorded)
                return CUDA_ERROR_NOT_FOUND;
        mark_copy(ret_mark, &event->mark);
        return CUDA_SUCCESS;
}

CUresult sim_cuEventQuery(CUevent hEvent)
{
        struct event *event = event_get(hEvent);
        struct mark mark;
        bool is_passed;
        CUresult r;

        if (!event)
                return CUDA_ERROR_INVALID_HANDLE;
        if (event->share.row)
                return event_share_is_passed(&event->share, event_share_newest(&event->share))
                               ? CUDA_SUCCESS
                               : CUDA_ERROR_NOT_READY;
        r = event_copy_mark(event, &mark);
        if (r == CUDA_ERROR_NOT_FOUND)
                return CUDA_SUCCESS;
        if (r != CUDA_SUCCESS)
                return r == CUDA_ERROR_CAPTURED_EVENT ? capture_break_event(event, r) : r;
        is_passed = mark_is_passed(&mark);
        mark_done(&mark);
        r = (CUresult)atomic_load(&event->context->error);
        if (r != CUDA_SUCCESS)
                return r;
        if (!is_passed)
                return CUDA_ERROR_NOT_READY;
        kernel_print_flush();
        return CUDA_SUCCESS;
}

CUresult sim_cuEventSynchronize(CUevent hEvent)
{
        struct event *event = event_get(hEvent);
        struct mark mark;
        CUresult r;

        if (!event)
                return CUDA_ERROR_INVALID_HANDLE;
        if (event->share.row) {
                event_share_wait(&event->share, event_share_newest(&event->share));
                return (CUresult)atomic_load(&event->context->error);
        }
        r = event_copy_mark(event, &mark);
        if (r == CUDA_ERROR_NOT_FOUND)
                return CUDA_SUCCESS;
        if (r != CUDA_SUCCESS)
                return r == CUDA_ERROR_CAPTURED_EVENT ? capture_break_event(event, r) : r;
        r = mark_wait(&mark);
        mark_done(&mark);
        sync_point_reached();
        return r;
}

/* When the event was reached; NOT_READY, or INVALID_HANDLE when it cannot be measured. */
static CUresult event_time_ns(struct event *event, uint64_t *ret_ns)
{
        autounlock pthread_mutex_t *held = scope_lock(&event->lock);
        uint64_t time_ns;

        if (event->capture.session)
                return CUDA_ERROR_CAPTURED_EVENT;
        if (!event->is_recorded || (event->flags & CU_EVENT_DISABLE_TIMING))
                return CUDA_ERROR_INVALID_HANDLE;
        if (!mark_is_passed(&event->mark))
                return CUDA_ERROR_NOT_READY;
        time_ns = mark_time_ns(&event->mark);
        *ret_ns = time_ns > event->record_ns ? time_ns : event->record_ns;
        return CUDA_SUCCESS;
}

CUresult sim_cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
        struct event *start = event_get(hStart), *end = event_get(hEnd);
        uint64_t start_ns, end_ns;
        CUresult r;

        if (!start || !end)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!pMilliseconds)
                return CUDA_ERROR_INVALID_VALUE;
        if (start->context->device != end->context->device)
                return CUDA_ERROR_INVALID_HANDLE;
        r = event_time_ns(start, &start_ns);
        if (r == CUDA_SUCCESS)
                r = event_time_ns(end, &end_ns);
        if (r != CUDA_SUCCESS)
                return r;
        *pMilliseconds = (float)((double)(int64_t)(end_ns - start_ns) / 1e6);
        return CUDA_SUCCESS;
}

CUresult sim_cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
        return sim_cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}
