/* SPDX-License-Identifier: Apache-2.0 */
/* Work on streams: what it does to memory (a task, run by the process's worker thread) and when it
 * happens on the GPU (an operation on the machine's time axis). A host that waits, waits for both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "context.h"
#include "stream_state.h"
#include "timeline.h"

/* Starts the thread that runs tasks. It attaches the process to the machine and holds its slot for
 * as long as the process lives. */
CUresult work_start(void);

/* What to do. `run` may be NULL: it only takes time. */
struct work {
        enum machine_engine engine;
        uint64_t delay_ns;
        uint64_t duration_ns; /* MACHINE_NS_UNKNOWN: `run` returns it in *ret_duration_ns */
        CUresult (*run)(void *closure, uint64_t *ret_duration_ns);
        void (*free)(void *closure); /* after run, or when dropped; may be NULL */
        void *closure;
};

/* The stream behind a handle: NULL and CU_STREAM_LEGACY the context's (or the thread's own, under
 * per-thread default streams), CU_STREAM_PER_THREAD the thread's. INVALID_HANDLE, INVALID_CONTEXT … */
CUresult stream_get(CUstream handle, struct stream **ret_stream);
CUresult stream_new(struct context *context, unsigned flags, int priority,
                    struct stream **ret_stream);
/* Returns at once; the work goes on. */
void stream_free(struct stream *stream);

/* Adds work to a stream, after everything the stream's rules say. Never called while the stream
 * is capturing. On failure the closure is freed. `ret_mark` may be NULL. */
CUresult work_submit(struct stream *stream, const struct work *work, struct mark *ret_mark);

/* A host function: later work on the stream waits for it. */
CUresult work_submit_host(struct stream *stream, void (*call)(void *closure), void *closure,
                          struct mark *ret_mark);
/* Later work on the stream waits until `is_due(closure)` says so (cuStreamWaitValue). */
CUresult work_submit_poll(struct stream *stream, bool (*is_due)(void *closure),
                          void (*free)(void *), void *closure);

/* The stream's newest point: what cuEventRecord remembers. Takes a reference. */
void work_mark(struct stream *stream, struct mark *ret_mark);
/* The next work on the stream waits for the mark. */
CUresult work_join(struct stream *stream, const struct mark *mark);

void mark_copy(struct mark *to, const struct mark *from);
void mark_done(struct mark *mark); /* drops its reference */
bool mark_is_passed(struct mark *mark);
/* Sleeps until it is passed; returns the context's sticky error if there is one. */
CUresult mark_wait(struct mark *mark);
/* When it was passed, simulated nanoseconds; 0: not yet. */
uint64_t mark_time_ns(struct mark *mark);

CUresult stream_wait(struct stream *stream);    /* cuStreamSynchronize */
bool stream_is_idle(struct stream *stream);     /* cuStreamQuery */
CUresult context_wait(struct context *context); /* cuCtxSynchronize */
