/* SPDX-License-Identifier: Apache-2.0 */
/* timer: things to do at a time, earliest first. The time is a parameter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Embedded by its owner, who outlives it or clears it. Zeroed is fine. */
struct timer {
        void (*on_due)(struct timer *timer);
        uint64_t due_ns;
        bool is_set;
        struct timer *child, *next, *previous; /* of the heap */
};

struct timer_heap {
        struct timer *first; /* the earliest */
};

/* Sets it, or sets it anew. It needs no memory, so it cannot fail. */
void timer_heap_set(struct timer_heap *heap, struct timer *timer, uint64_t due_ns);
void timer_heap_clear(struct timer_heap *heap, struct timer *timer); /* not set: fine */

/* When the earliest is due; UINT64_MAX: none is set. */
uint64_t timer_heap_due_ns(const struct timer_heap *heap);

/* Calls those that were due by now, each cleared before its call. */
void timer_heap_run(struct timer_heap *heap, uint64_t now_ns);
