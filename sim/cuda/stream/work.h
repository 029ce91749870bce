/* SPDX-License-Identifier: Apache-2.0 */
/* Work on streams: what it does to memory (a task, run by the process's worker thread) and when it
 * happens on the GPU (an operation on the machine's time axis). A host that waits, waits for both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "context.h"
#include "timeline.h"

#define STREAM_MAGIC UINT32_C(0x72747376)

struct capture;
struct stream_attributes;
struct task;

/* A point that is passed when work submitted before it is complete. */
struct mark {
        machine_ref op;        /* 0: nothing pending on the time axis … */
        uint64_t time_ns;      /* … complete since then */
        struct stamp *stamp;   /* counted; keeps the op's end when its ring entry is reused */
        struct stream *stream; /* whose tasks … */
        uint64_t task;         /* … up to this one must have run; 0: none */
};

/* Streams are pooled and never freed, so that a mark may outlive its stream. */
struct stream {
        uint32_t magic; /* 0 while in the pool */
        unsigned flags; /* CU_STREAM_NON_BLOCKING */
        int priority;
        uint64_t number; /* cuStreamGetId */
        struct context *context;
        bool is_legacy, is_per_thread;
        struct mark last;   /* the newest work */
        struct mark *waits; /* joined by the next work: cuStreamWaitEvent */
        unsigned wait_count, wait_capacity;
        struct capture *capture;    /* ≠ NULL: calls are recorded, not run (capture.h) */
        struct task *first, *end;   /* tasks not yet run, oldest first */
        _Atomic uint64_t task_done; /* number of the newest task that has run */
        struct stream_attributes *attributes; /* NULL: none was set (stream_attribute.c) */
        struct stream *next;                  /* in the context, or in the pool */
        struct stream *busy_next;             /* among those that have tasks */
};

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
