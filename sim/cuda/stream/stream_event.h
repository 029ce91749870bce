/* SPDX-License-Identifier: Apache-2.0 */
/* CUevent: a point in a stream that others wait for and time is measured between. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "event_share.h"
#include "work.h"

#define EVENT_MAGIC UINT32_C(0x6e657665)

struct node;

/* Where a capture stood when the event was recorded in it. */
struct event_capture {
        uint64_t session; /* number of the capture; 0: last recorded outside of any */
        size_t count;
        struct node **nodes;
};

/* Events are pooled and never freed: a late read of a destroyed one finds no magic. */
struct event {
        uint32_t magic; /* 0 while in the pool */
        unsigned flags; /* CUevent_flags */
        struct context *context;
        pthread_mutex_t lock; /* guards what follows */
        bool is_recorded;
        struct mark mark;
        uint64_t record_ns; /* the event is not before this */
        struct event_capture capture;
        struct event_share share; /* with other processes */
        struct event *next;
};

/* NULL: `handle` is no living event. */
struct event *event_get(CUevent handle);
/* Remembers the stream's newest point. */
CUresult event_record(struct event *event, struct stream *stream);
/* The next work on the stream waits for the event as it was last recorded. */
CUresult event_join(struct event *event, struct stream *stream);
/* True: it was last recorded in a capture. */
bool event_is_captured(struct event *event);
/* Lets other processes open it, from here on. */
CUresult event_export(struct event *event);
/* Remembers a point in a capture instead; takes `nodes`. */
void event_set_capture(struct event *event, uint64_t session, struct node **nodes, size_t count);
