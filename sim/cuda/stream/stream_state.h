/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream is: its newest point, and the tasks that it has yet to run. */
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
