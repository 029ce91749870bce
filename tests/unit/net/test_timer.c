/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of timer: earliest first, however they were set, moved and cleared. */
#include "timer.h"

#include "list.h"
#include "unit.h"

struct ring {
        struct timer timer;
        struct timer_heap *heap;
        uint64_t *last_ns;
        unsigned *count;
};

static void on_due(struct timer *timer)
{
        struct ring *ring = container_of(timer, struct ring, timer);

        CHECK(timer->due_ns >= *ring->last_ns);
        *ring->last_ns = timer->due_ns;
        ++*ring->count;
}

TEST(timers_ring_in_the_order_of_their_times)
{
        struct timer_heap heap = { 0 };
        struct ring rings[200] = { 0 };
        uint64_t last_ns = 0;
        unsigned count = 0;

        for (unsigned i = 0; i < 200; i++) {
                rings[i] = (struct ring){ { .on_due = on_due }, &heap, &last_ns, &count };
                timer_heap_set(&heap, &rings[i].timer, i * 7919 % 1000);
        }
        for (unsigned i = 0; i < 200; i += 3)
                timer_heap_clear(&heap, &rings[i].timer);
        for (unsigned i = 1; i < 200; i += 3)
                timer_heap_set(&heap, &rings[i].timer, i * 31 % 1000);
        timer_heap_run(&heap, 1000);
        CHECK_EQ(count, 200 - 67);
        CHECK(timer_heap_due_ns(&heap) == UINT64_MAX);
}

TEST(a_timer_rings_once_and_not_before_its_time)
{
        struct timer_heap heap = { 0 };
        uint64_t last_ns = 0;
        unsigned count = 0;
        struct ring ring = { { .on_due = on_due }, &heap, &last_ns, &count };

        timer_heap_clear(&heap, &ring.timer);
        timer_heap_set(&heap, &ring.timer, 10);
        timer_heap_run(&heap, 9);
        CHECK_EQ(count, 0);
        timer_heap_run(&heap, 10);
        timer_heap_run(&heap, 11);
        CHECK_EQ(count, 1);
}

static void on_due_clear_next(struct timer *timer)
{
        struct ring *ring = container_of(timer, struct ring, timer);

        timer_heap_clear(ring->heap, &ring[1].timer);
        ++*ring->count;
}

TEST(a_timer_may_clear_another_that_is_due)
{
        struct timer_heap heap = { 0 };
        unsigned count = 0;
        struct ring rings[2] = {
                { { .on_due = on_due_clear_next }, &heap, NULL, &count },
                { { .on_due = on_due_clear_next }, &heap, NULL, &count },
        };

        timer_heap_set(&heap, &rings[0].timer, 1);
        timer_heap_set(&heap, &rings[1].timer, 2);
        timer_heap_run(&heap, 5);
        CHECK_EQ(count, 1);
}

TEST(timers_that_are_set_and_cleared_at_random_ring_in_order)
{
        enum { RINGS = 300, STEPS = 20000 };
        static struct ring rings[RINGS];
        struct timer_heap heap = { 0 };
        uint64_t now_ns = 0, last_ns = 0, chance = 7;
        unsigned count = 0, is_set = 0;

        for (unsigned i = 0; i < RINGS; i++)
                rings[i] = (struct ring){ { .on_due = on_due }, &heap, &last_ns, &count };
        for (unsigned i = 0; i < STEPS; i++) {
                chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
                struct timer *timer = &rings[(chance >> 33) % RINGS].timer;

                if (chance >> 62)
                        timer_heap_set(&heap, timer, now_ns + 1 + (chance >> 20) % 1000);
                else
                        timer_heap_clear(&heap, timer);
                if (i % 10 == 0)
                        timer_heap_run(&heap, now_ns += 20);
        }
        count = 0;
        for (unsigned i = 0; i < RINGS; i++)
                is_set += rings[i].timer.is_set;
        CHECK(is_set > 0);
        timer_heap_run(&heap, now_ns + 1000);
        CHECK_EQ(count, is_set);
        CHECK(timer_heap_due_ns(&heap) == UINT64_MAX);
}

int main(void)
{
        return RUN(CASE(timers_ring_in_the_order_of_their_times),
                   CASE(timers_that_are_set_and_cleared_at_random_ring_in_order),
                   CASE(a_timer_rings_once_and_not_before_its_time),
                   CASE(a_timer_may_clear_another_that_is_due));
}
