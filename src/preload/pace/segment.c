/* SPDX-License-Identifier: Apache-2.0 */
/* segment: an array, taken one after the other; and what a segment's times mean. */
#include "segment.h"

#include "lock.h"

enum { SEGMENTS = 1024 };

static struct {
        struct lock lock; /* taken inside a device's */
        struct segment *free;
        _Atomic unsigned used; /* segments ever taken, of all devices */
        uint64_t number;
        struct segment segments[SEGMENTS];
} segment;

_Atomic uint32_t segment_live;

/* A thread that ended left its segment open: it is taken by the next who finds none free. */
static struct segment *segment_steal(void)
{
        struct segment *oldest = NULL;

        for (unsigned i = 0; i < SEGMENTS; i++) {
                struct segment *s = &segment.segments[i];
                if (s->state == SEGMENT_OPEN && (!oldest || s->number < oldest->number))
                        oldest = s;
        }
        return oldest;
}

struct segment *segment_take(void)
{
        lock_take(&segment.lock);
        struct segment *s = segment.free;
        if (s)
                segment.free = s->next;
        else if (segment.used < SEGMENTS)
                s = &segment.segments[segment.used++];
        if (s)
                atomic_fetch_add_explicit(&segment_live, 1, memory_order_relaxed);
        else
                s = segment_steal();
        if (s)
                *s = (struct segment){ .state = SEGMENT_OPEN, .number = ++segment.number };
        lock_give(&segment.lock);
        return s;
}

void segment_free(struct segment *s)
{
        lock_take(&segment.lock);
        s->state = SEGMENT_FREE;
        s->number = 0;
        s->next = segment.free;
        segment.free = s;
        atomic_fetch_sub_explicit(&segment_live, 1, memory_order_relaxed);
        lock_give(&segment.lock);
}

unsigned segment_count(void)
{
        return segment.used;
}

struct segment *segment_at(unsigned index)
{
        return &segment.segments[index];
}

void segment_spans(const struct segment *s, uint64_t begin_ns, uint64_t end_ns,
                   struct span *ret_early, struct span *ret_late)
{
        const struct segment_end *f = &s->facts;
        uint64_t late_ns = f->last_at_ns > begin_ns ? f->last_at_ns : begin_ns;
        uint64_t earlier_ns = f->planned_ns - f->last_ns;

        /* Closed by something else than its last work, some of which may have been done by then. */
        if (f->last_ns == 0 && end_ns > late_ns)
                earlier_ns -= end_ns - late_ns < earlier_ns ? end_ns - late_ns : earlier_ns;
        uint64_t until_ns = begin_ns + earlier_ns < late_ns ? begin_ns + earlier_ns : late_ns;
        *ret_early = (struct span){ begin_ns, until_ns };
        *ret_late = (struct span){ late_ns, end_ns };
}

void segment_forked(void)
{
        for (unsigned i = 0; i < segment.used; i++)
                segment.segments[i] = (struct segment){ 0 };
        segment.lock = (struct lock){ 0 };
        segment.free = NULL;
        segment.used = 0;
        atomic_store(&segment_live, 0);
}
