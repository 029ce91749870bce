/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of spans of time that count once, in whatever order they come. */
#include "busy_set.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static struct span parts[BUSY_SPANS + 1];

static uint64_t add(struct busy_set *set, uint64_t begin, uint64_t end)
{
        unsigned count = busy_set_add(set, (struct span){ begin, end }, parts);
        uint64_t sum = 0;

        for (unsigned i = 0; i < count; i++)
                sum += parts[i].end_ns - parts[i].begin_ns;
        return sum;
}

TEST(a_span_counts_once)
{
        struct busy_set set = { 0 };

        CHECK_EQ(add(&set, 10, 20), 10);
        CHECK_EQ(add(&set, 10, 20), 0);
        CHECK_EQ(add(&set, 15, 25), 5);
        CHECK_EQ(add(&set, 5, 30), 10);
        CHECK_EQ(set.count, 1);
}

TEST(an_early_span_that_comes_late_still_counts)
{
        struct busy_set set = { 0 };

        CHECK_EQ(add(&set, 100, 200), 100);
        CHECK_EQ(add(&set, 10, 50), 40);
        CHECK_EQ(add(&set, 0, 300), 160);
        CHECK_EQ(parts[0].begin_ns, 0);
        CHECK_EQ(parts[0].end_ns, 10);
        CHECK_EQ(parts[2].end_ns, 300);
}

TEST(nothing_is_nothing)
{
        struct busy_set set = { 0 };

        CHECK_EQ(add(&set, 20, 10), 0);
        CHECK_EQ(add(&set, 20, 20), 0);
        CHECK_EQ(set.count, 0);
}

TEST(when_it_is_full_the_oldest_are_forgotten)
{
        struct busy_set set = { 0 };

        for (uint64_t i = 0; i < 4 * BUSY_SPANS; i++)
                CHECK_EQ(add(&set, i * 10, i * 10 + 5), 5);
        CHECK_EQ(set.count, BUSY_SPANS);
        CHECK_EQ(add(&set, (4 * BUSY_SPANS - 1) * 10, 4 * BUSY_SPANS * 10), 5);
        CHECK_EQ(add(&set, 0, 5), 5); /* forgotten, and too old to be kept */
        CHECK_EQ(set.count, BUSY_SPANS);
}

/* Against a bitmap, with spans at random. */
TEST(it_agrees_with_counting_every_nanosecond)
{
        static unsigned char seen[1000];
        struct busy_set set = { 0 };

        srand(7);
        for (unsigned round = 0; round < 200; round++) {
                uint64_t begin = (uint64_t)rand() % 900, end = begin + (uint64_t)rand() % 20;
                uint64_t fresh = 0;
                for (uint64_t i = begin; i < end; i++) {
                        fresh += !seen[i];
                        seen[i] = 1;
                }
                CHECK_EQ(add(&set, begin, end), fresh);
        }
}

int main(void)
{
        return RUN(CASE(a_span_counts_once), CASE(an_early_span_that_comes_late_still_counts),
                   CASE(nothing_is_nothing), CASE(when_it_is_full_the_oldest_are_forgotten),
                   CASE(it_agrees_with_counting_every_nanosecond));
}
