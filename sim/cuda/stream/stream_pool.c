/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as objects: made, given back, and found behind a handle. They are pooled and never freed:
 * a mark may refer to a stream that is gone. */
#include <stdlib.h>

#include "capture.h"
#include "entry.h"
#include "work.h"
#include "work_lock.h"

static struct stream *stream_pool;

CUresult stream_new(struct context *context, unsigned flags, int priority,
                    struct stream **ret_stream)
{
        static uint64_t number;

        pthread_mutex_lock(&work_lock);
        struct stream *stream = stream_pool;
        if (stream)
                stream_pool = stream->next;
        else
                stream = calloc(1, sizeof *stream);
        if (!stream) {
                pthread_mutex_unlock(&work_lock);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        stream->magic = STREAM_MAGIC;
        stream->flags = flags;
        stream->priority = priority;
        stream->number = ++number;
        stream->context = context;
        stream->is_legacy = stream->is_per_thread = false;
        stream->capture = NULL;
        if (context->legacy) {
                stream->next = context->streams;
                context->streams = stream;
        }
        pthread_mutex_unlock(&work_lock);
        *ret_stream = stream;
        return CUDA_SUCCESS;
}

void stream_free(struct stream *stream)
{
        struct context *context = stream->context;

        if (capture_is_active(stream))
                capture_leave(stream);
        pthread_mutex_lock(&work_lock);
        for (struct stream **link = &context->streams; *link; link = &(*link)->next) {
                if (*link == stream) {
                        *link = stream->next;
                        break;
                }
        }
        stream->magic = 0;
        work_drop_waits(stream);
        stream->next = stream_pool;
        stream_pool = stream;
        pthread_mutex_unlock(&work_lock);
}

/* One default stream per thread and context. */
static CUresult stream_of_thread(struct context *context, struct stream **ret_stream)
{
        static _Thread_local struct {
                uint64_t context;
                struct stream *stream;
        } own[8];
        unsigned free_index = 0;

        for (unsigned i = 0; i < 8; i++) {
                if (own[i].context == context->number) {
                        *ret_stream = own[i].stream;
                        return CUDA_SUCCESS;
                }
                if (!own[i].context)
                        free_index = i;
        }
        CUresult r = stream_new(context, CU_STREAM_DEFAULT, 0, ret_stream);
        if (r == CUDA_SUCCESS) {
                (*ret_stream)->is_per_thread = true;
                own[free_index].context = context->number;
                own[free_index].stream = *ret_stream;
        }
        return r;
}

CUresult stream_get(CUstream handle, struct stream **ret_stream)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (handle == CU_STREAM_PER_THREAD || (!handle && entry_per_thread_default))
                return stream_of_thread(context, ret_stream);
        if (!handle || handle == CU_STREAM_LEGACY) {
                *ret_stream = context->legacy;
                return capture_forbids_legacy(context);
        }
        struct stream *stream = (struct stream *)handle;
        if ((uintptr_t)handle % _Alignof(struct stream) || stream->magic != STREAM_MAGIC)
                return CUDA_ERROR_INVALID_HANDLE;
        *ret_stream = stream;
        return CUDA_SUCCESS;
}
