/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of ticks: the processor's counter beside the clock. */
#include "ticks.h"

#include "clock.h"
#include "unit.h"

TEST(a_span_is_so_many_ticks_at_any_rate)
{
        CHECK_EQ(ticks_in_us(100, 1000000000), 100000); /* Grace */
        CHECK_EQ(ticks_in_us(100, 31250000), 3125);     /* Jetson */
        CHECK_EQ(ticks_in_us(100, 24000000), 2400);
        CHECK_EQ(ticks_in_us(100, 0), 0); /* a firmware that does not say: the clock is read */
}

TEST(ticks_pass_at_their_rate_or_faster)
{
        const uint64_t begin = ticks_now(), begin_ns = clock_now_ns();

        if (!begin || !ticks_hz())
                skip();
        while (clock_now_ns() < begin_ns + 20 * NS_PER_MS)
                continue;
        /* The clock is asked first here, and later at the start: however long we are off our core in
         * between, more ticks have passed than time. */
        const uint64_t passed_us = (clock_now_ns() - begin_ns) / 1000, passed = ticks_now() - begin;

        CHECK(passed >= ticks_in_us(passed_us, ticks_hz()));
}

TEST(ticks_do_not_go_back)
{
        uint64_t last = ticks_now();

        for (unsigned i = 0; i < 10000; i++) {
                const uint64_t now = ticks_now();
                CHECK(now >= last);
                last = now;
        }
}

int main(void)
{
        return RUN(CASE(a_span_is_so_many_ticks_at_any_rate),
                   CASE(ticks_pass_at_their_rate_or_faster), CASE(ticks_do_not_go_back));
}
