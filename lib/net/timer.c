/* SPDX-License-Identifier: Apache-2.0 */
/* A pairing heap of the timers themselves: a daemon without memory must not lose what it meant to do later. */
#include "timer.h"

#include <stddef.h>

/* The later one becomes a child of the earlier one. Neither has siblings; NULL is none. */
static struct timer *meld(struct timer *a, struct timer *b)
{
        if (!a || !b)
                return a ? a : b;
        if (b->due_ns < a->due_ns) {
                struct timer *earlier = b;

                b = a;
                a = earlier;
        }
        b->previous = a;
        b->next = a->child;
        if (b->next)
                b->next->previous = b;
        a->child = b;
        return a;
}

/* Without its siblings; the one after it. */
static struct timer *part(struct timer *timer)
{
        struct timer *next = timer->next;

        timer->next = timer->previous = NULL;
        return next;
}

/* All siblings in one: in pairs, then from the last pair to the first, which keeps the heap low. */
static struct timer *meld_all(struct timer *sibling)
{
        struct timer *pairs = NULL, *all = NULL;

        while (sibling) {
                struct timer *a = sibling, *b = part(a);

                sibling = b ? part(b) : NULL;
                a = meld(a, b);
                a->next = pairs;
                pairs = a;
        }
        while (pairs) {
                struct timer *pair = pairs;

                pairs = part(pair);
                all = meld(all, pair);
        }
        return all;
}

void timer_heap_clear(struct timer_heap *heap, struct timer *timer)
{
        if (!timer->is_set)
                return;
        timer->is_set = false;
        struct timer *children = meld_all(timer->child);

        timer->child = NULL;
        if (timer == heap->first) {
                heap->first = children;
                return;
        }
        if (timer->previous->child == timer)
                timer->previous->child = timer->next;
        else
                timer->previous->next = timer->next;
        if (timer->next)
                timer->next->previous = timer->previous;
        part(timer);
        heap->first = meld(heap->first, children);
}

void timer_heap_set(struct timer_heap *heap, struct timer *timer, uint64_t due_ns)
{
        timer_heap_clear(heap, timer);
        timer->due_ns = due_ns;
        timer->is_set = true;
        heap->first = meld(heap->first, timer);
}

uint64_t timer_heap_due_ns(const struct timer_heap *heap)
{
        return heap->first ? heap->first->due_ns : UINT64_MAX;
}

void timer_heap_run(struct timer_heap *heap, uint64_t now_ns)
{
        /* A timer that sets itself anew is due later than now, so this ends. */
        while (timer_heap_due_ns(heap) <= now_ns) {
                struct timer *timer = heap->first;

                timer_heap_clear(heap, timer);
                timer->on_due(timer);
        }
}
