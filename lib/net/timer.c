/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of pointers; each timer knows its index, so that clearing needs no search. */
#include "timer.h"

#include <errno.h>
#include <stdlib.h>

static void put(struct timer_heap *heap, size_t heap_index, struct timer *timer)
{
        heap->items[heap_index] = timer;
        timer->heap_index = heap_index;
}

static void sift_up(struct timer_heap *heap, size_t heap_index)
{
        struct timer *timer = heap->items[heap_index];

        for (; heap_index > 1 && heap->items[heap_index / 2]->due_ns > timer->due_ns;
             heap_index /= 2)
                put(heap, heap_index, heap->items[heap_index / 2]);
        put(heap, heap_index, timer);
}

static void sift_down(struct timer_heap *heap, size_t heap_index)
{
        struct timer *timer = heap->items[heap_index];

        for (size_t child; (child = heap_index * 2) <= heap->count; heap_index = child) {
                if (child < heap->count &&
                    heap->items[child + 1]->due_ns < heap->items[child]->due_ns)
                        child++;
                if (heap->items[child]->due_ns >= timer->due_ns)
                        break;
                put(heap, heap_index, heap->items[child]);
        }
        put(heap, heap_index, timer);
}

static int grow(struct timer_heap *heap)
{
        size_t capacity = heap->capacity ? heap->capacity * 2 : 16;
        struct timer **items = realloc(heap->items, capacity * sizeof *items);

        if (!items)
                return -ENOMEM;
        heap->items = items;
        heap->capacity = capacity;
        return 0;
}

int timer_heap_set(struct timer_heap *heap, struct timer *timer, uint64_t due_ns)
{
        if (!timer->heap_index) {
                if (heap->count + 1 >= heap->capacity && grow(heap) < 0)
                        return -ENOMEM;
                put(heap, ++heap->count, timer);
        }
        timer->due_ns = due_ns;
        sift_up(heap, timer->heap_index);
        sift_down(heap, timer->heap_index);
        return 0;
}

void timer_heap_clear(struct timer_heap *heap, struct timer *timer)
{
        size_t heap_index = timer->heap_index;
        struct timer *last;

        if (!heap_index)
                return;
        timer->heap_index = 0;
        last = heap->items[heap->count--];
        if (last == timer)
                return;
        put(heap, heap_index, last);
        sift_up(heap, heap_index);
        sift_down(heap, last->heap_index);
}

uint64_t timer_heap_due_ns(const struct timer_heap *heap)
{
        return heap->count ? heap->items[1]->due_ns : UINT64_MAX;
}

void timer_heap_run(struct timer_heap *heap, uint64_t now_ns)
{
        /* A timer that sets itself anew is due later than now, so this ends. */
        while (timer_heap_due_ns(heap) <= now_ns) {
                struct timer *timer = heap->items[1];

                timer_heap_clear(heap, timer);
                timer->on_due(timer);
        }
}

void timer_heap_done(struct timer_heap *heap)
{
        free(heap->items);
        *heap = (struct timer_heap){ 0 };
}
