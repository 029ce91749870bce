/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a container's GPU time: debt that is kept, rates that change, use counted once. */
#include "region_compute.h"

#include <pthread.h>
#include <stdlib.h>

#include "clock.h"
#include "unit.h"

#define MS    ((uint64_t)NS_PER_MS)
#define BEGIN (1000 * (uint64_t)NS_PER_S)

static struct region_compute *compute_new(void)
{
        struct region_compute *compute = calloc(1, sizeof *compute);

        assert_non_null(compute);
        return compute;
}

static bool is_near(uint64_t left, uint64_t right)
{
        return (left > right ? left - right : right - left) <= 128;
}

/* Uses up what an idle container has saved, so that the next work is paid in full. */
static struct compute_rate spent(struct region_compute *compute, uint32_t permille)
{
        struct compute_rate rate = region_compute_rate(compute, permille);

        CHECK_EQ(region_compute_take(compute, rate, BEGIN, rate.depth_ns), 0);
        return rate;
}

TEST(debt_is_kept_a_long_kernel_is_followed_by_a_long_pause)
{
        struct region_compute *compute = compute_new();
        struct compute_rate rate = spent(compute, 300);

        CHECK_EQ(region_compute_take(compute, rate, BEGIN, 20 * MS), 0);
        CHECK(is_near(region_compute_take(compute, rate, BEGIN + 20 * MS, 20 * MS),
                      66666667 - 20 * MS));
        CHECK(is_near(region_compute_owed_ns(compute, rate, BEGIN), 66666667));
        CHECK_EQ(region_compute_take(compute, rate, BEGIN + 67 * MS, 20 * MS), 0);
        free(compute);
}

TEST(a_rate_that_changes_converts_what_is_owed)
{
        struct region_compute *compute = compute_new();
        struct compute_rate slow = spent(compute, 50);

        CHECK_EQ(region_compute_take(compute, slow, BEGIN, 20 * MS), 0);
        CHECK(is_near(region_compute_owed_ns(compute, slow, BEGIN), 400 * MS));
        struct compute_rate fast = region_compute_rate(compute, 500);
        CHECK(is_near(region_compute_owed_ns(compute, fast, BEGIN), 40 * MS));
        CHECK(is_near(region_compute_take(compute, fast, BEGIN, MS), 40 * MS));
        region_compute_correct(compute, fast, BEGIN, 0);
        CHECK_EQ(region_compute_take(compute, fast, BEGIN + 41 * MS, MS), 0);
        free(compute);
}

/* Looked at again and again, as those do who wait. */
TEST(a_debt_that_was_converted_is_paid_at_the_new_rate)
{
        struct region_compute *compute = compute_new();
        struct compute_rate slow = spent(compute, 30);

        CHECK_EQ(region_compute_take(compute, slow, BEGIN, 20 * MS), 0);
        struct compute_rate fast = region_compute_rate(compute, 800);
        uint64_t waited = 0;
        while (region_compute_take(compute, fast, BEGIN + waited, MS) > 0)
                waited += MS;
        CHECK_EQ(waited, 25 * MS);
        free(compute);
}

TEST(a_debt_that_was_converted_is_longer_at_a_lower_rate)
{
        struct region_compute *compute = compute_new();
        struct compute_rate fast = spent(compute, 800);

        CHECK_EQ(region_compute_take(compute, fast, BEGIN, 80 * MS), 0);
        struct compute_rate slow = region_compute_rate(compute, 100);
        CHECK(is_near(region_compute_take(compute, slow, BEGIN, MS), 800 * MS));
        CHECK(is_near(region_compute_take(compute, slow, BEGIN + 100 * MS, MS), 700 * MS));
        free(compute);
}

/* 500 ms at 3 %: 16 s are owed. */
TEST(a_share_that_is_raised_leaves_a_moment_of_the_debt)
{
        struct region_compute *compute = compute_new();
        struct compute_rate slow = spent(compute, 30), fast;

        region_compute_forgive(compute, 30, BEGIN);
        CHECK_EQ(region_compute_take(compute, slow, BEGIN, 500 * MS), 0);
        region_compute_forgive(compute, 30, BEGIN);
        CHECK(region_compute_owed_ns(compute, slow, BEGIN) > 16000 * MS);
        region_compute_forgive(compute, 800, BEGIN);
        fast = region_compute_rate(compute, 800);
        CHECK(is_near(region_compute_owed_ns(compute, fast, BEGIN), 60 * MS));
        free(compute);
}

TEST(a_process_with_less_than_its_share_is_forgiven_nothing)
{
        struct region_compute *compute = compute_new();
        struct compute_rate tight = spent(compute, 100), share;

        region_compute_forgive(compute, 500, BEGIN);
        CHECK_EQ(region_compute_take(compute, tight, BEGIN, 100 * MS), 0);
        region_compute_forgive(compute, 500, BEGIN);
        share = region_compute_rate(compute, 500);
        CHECK(is_near(region_compute_take(compute, share, BEGIN, MS), 200 * MS));
        CHECK(is_near(region_compute_take(compute, tight, BEGIN, MS), 1000 * MS));
        free(compute);
}

TEST(credit_is_no_deeper_than_the_depth)
{
        struct region_compute *compute = compute_new();
        struct compute_rate rate = spent(compute, 500);
        uint64_t later = BEGIN + 10 * (uint64_t)NS_PER_S, taken = 0;

        CHECK_EQ(rate.depth_ns, 20 * MS);
        while (region_compute_take(compute, rate, later, MS) == 0)
                taken += MS;
        CHECK(taken <= 21 * MS);
        free(compute);
}

TEST(the_depth_covers_the_longest_work_and_two_quanta)
{
        struct region_compute *compute = compute_new();

        CHECK_EQ(region_compute_rate(compute, 50).depth_ns, 8 * MS);
        CHECK_EQ(region_compute_rate(compute, 1000).depth_ns, 40 * MS);
        region_compute_saw(compute, 30 * MS);
        region_compute_saw(compute, 3 * MS);
        CHECK_EQ(region_compute_rate(compute, 50).depth_ns, 30 * MS);
        free(compute);
}

/* Half a second in which others had the device is a quarter of a second of work at 50 %. */
TEST(what_a_wait_leaves_unused_is_kept_and_later_forgotten)
{
        struct region_compute *compute = compute_new();
        const uint64_t depth_ns = region_compute_rate(compute, 500).depth_ns;

        spent(compute, 500);
        region_compute_keep(compute, BEGIN + 500 * MS, 500 * MS);
        const struct compute_rate kept = region_compute_rate(compute, 500);
        CHECK_EQ(kept.depth_ns, depth_ns);
        CHECK_EQ(region_compute_take(compute, kept, BEGIN + 500 * MS, 250 * MS), 0);
        CHECK(is_near(region_compute_take(compute, kept, BEGIN + 490 * MS, MS), 10 * MS));
        /* Nobody takes it: some time later there is the depth, and no more. */
        const uint64_t late_ns = BEGIN + 10 * NS_PER_S;
        CHECK_EQ(region_compute_take(compute, kept, late_ns, depth_ns + MS), 0);
        CHECK(is_near(region_compute_take(compute, kept, late_ns, MS), 2 * MS));
        free(compute);
}

TEST(waits_of_several_processes_for_one_timeslice_are_kept_once)
{
        struct region_compute *compute = compute_new();
        const uint64_t depth_ns = region_compute_rate(compute, 500).depth_ns;

        spent(compute, 500);
        for (unsigned i = 0; i < 3; i++)
                region_compute_keep(compute, BEGIN + 500 * MS, 500 * MS);
        CHECK(region_compute_rate(compute, 500).kept_wall_ns <= 500 * MS);
        /* Whoever has not even used the depth keeps nothing. */
        struct region_compute *idle = compute_new();
        CHECK_EQ(region_compute_take(idle, region_compute_rate(idle, 500), BEGIN, depth_ns), 0);
        region_compute_keep(idle, BEGIN + 20 * MS, 20 * MS);
        CHECK_EQ(region_compute_rate(idle, 500).kept_wall_ns, 0);
        free(idle);
        free(compute);
}

TEST(a_correction_goes_both_ways_and_tells_who_waits)
{
        struct region_compute *compute = compute_new();
        struct compute_rate rate = spent(compute, 100);

        CHECK_EQ(region_compute_take(compute, rate, BEGIN, 2 * MS), 0);
        CHECK(region_compute_correct(compute, rate, BEGIN, -(int64_t)MS));
        CHECK(is_near(region_compute_owed_ns(compute, rate, BEGIN), 10 * MS));
        CHECK(!region_compute_correct(compute, rate, BEGIN, 3 * (int64_t)MS));
        CHECK(is_near(region_compute_owed_ns(compute, rate, BEGIN), 40 * MS));
        free(compute);
}

TEST(time_is_used_once_however_many_say_so)
{
        struct region_compute *compute = compute_new();
        const uint64_t us = NS_PER_US;

        CHECK_EQ(region_compute_cover(compute, BEGIN, BEGIN + 4 * MS), 4 * MS);
        CHECK_EQ(region_compute_cover(compute, BEGIN, BEGIN + 5 * MS), MS);
        CHECK_EQ(region_compute_cover(compute, BEGIN + 9, BEGIN + 5), 0);
        CHECK_EQ(region_compute_cover(compute, BEGIN + 7100 * us, BEGIN + 7300 * us), 200 * us);
        CHECK_EQ(region_compute_cover(compute, BEGIN + 7050 * us, BEGIN + 7350 * us), 100 * us);
        CHECK_EQ(region_compute_used_ns(compute, BEGIN + 20 * MS, 100), 5 * MS + 300 * us);
        CHECK_EQ(region_compute_used_ns(compute, BEGIN + 20 * MS, 2), 0);
        CHECK_EQ(region_compute_used_ns(compute, BEGIN + 3000 * MS, 1000), 0);
        free(compute);
}

/* Whatever the steps of the record are: what one process says piece by piece counts exactly. */
TEST(spans_that_follow_each_other_lose_and_gain_nothing)
{
        struct region_compute *compute = compute_new();
        uint64_t at = BEGIN + 12345, sum = 0;

        for (unsigned i = 1; i < 500; i++) {
                uint64_t length = i * 7919 % 60000 + 1;
                sum += region_compute_cover(compute, at, at + length) - length;
                at += length;
        }
        CHECK_EQ(sum, 0);
        uint64_t used = region_compute_used_ns(compute, at + MS, 1000);
        CHECK(used + 20000 > at - BEGIN - 12345);
        CHECK(used < at - BEGIN - 12345 + 20000);
        free(compute);
}

TEST(work_longer_than_the_record_counts_in_full)
{
        struct region_compute *compute = compute_new();

        CHECK_EQ(region_compute_cover(compute, BEGIN, BEGIN + 5000 * MS), 5000 * MS);
        uint64_t used = region_compute_used_ns(compute, BEGIN + 5000 * MS, 1000);
        CHECK(used > 999 * MS);
        CHECK(used <= 1000 * MS);
        free(compute);
}

TEST(waits_for_the_limit_are_kept_apart_and_count_once)
{
        struct region_compute *compute = compute_new();
        uint64_t at = BEGIN, sum = 0;

        for (unsigned i = 0; i < 40; i++, at += 25 * MS) { /* two threads, one a little later */
                sum += region_compute_throttle(compute, at, at + 20 * MS);
                sum += region_compute_throttle(compute, at + 5 * MS, at + 20 * MS);
        }
        CHECK_EQ(sum, 800 * MS);
        const uint64_t shown = region_compute_throttled_ns(compute, at + 30 * MS, 1000);
        CHECK(shown > 780 * MS && shown <= 800 * MS);
        CHECK_EQ(region_compute_used_ns(compute, at, 1000), 0);
        CHECK_EQ(region_compute_throttled_ns(compute, at + 3000 * MS, 1000), 0);
        CHECK_EQ(region_compute_throttled_ns(compute, 5, 1000), 0);
        free(compute);
}

static struct region_compute *raced;

static void *race(void *taken)
{
        struct compute_rate rate = region_compute_rate(raced, 500);

        for (uint64_t now = BEGIN; now < BEGIN + 100 * MS; now += MS / 10)
                if (region_compute_take(raced, rate, now, MS) == 0)
                        *(uint64_t *)taken += MS;
        return NULL;
}

TEST(threads_that_take_at_once_take_no_more_than_there_is)
{
        uint64_t taken[4] = { 0 }, sum = 0;
        pthread_t threads[4];

        raced = compute_new();
        for (unsigned i = 0; i < 4; i++)
                pthread_create(&threads[i], NULL, race, &taken[i]);
        for (unsigned i = 0; i < 4; i++) {
                pthread_join(threads[i], NULL);
                sum += taken[i];
        }
        /* The threads' clocks differ: what one has saved up another may use. */
        CHECK(sum >= 49 * MS);
        CHECK(sum <= 72 * MS);
        free(raced);
}

int main(void)
{
        return RUN(CASE(debt_is_kept_a_long_kernel_is_followed_by_a_long_pause),
                   CASE(a_rate_that_changes_converts_what_is_owed),
                   CASE(a_debt_that_was_converted_is_paid_at_the_new_rate),
                   CASE(a_debt_that_was_converted_is_longer_at_a_lower_rate),
                   CASE(a_share_that_is_raised_leaves_a_moment_of_the_debt),
                   CASE(a_process_with_less_than_its_share_is_forgiven_nothing),
                   CASE(credit_is_no_deeper_than_the_depth),
                   CASE(the_depth_covers_the_longest_work_and_two_quanta),
                   CASE(what_a_wait_leaves_unused_is_kept_and_later_forgotten),
                   CASE(waits_of_several_processes_for_one_timeslice_are_kept_once),
                   CASE(a_correction_goes_both_ways_and_tells_who_waits),
                   CASE(time_is_used_once_however_many_say_so),
                   CASE(spans_that_follow_each_other_lose_and_gain_nothing),
                   CASE(work_longer_than_the_record_counts_in_full),
                   CASE(waits_for_the_limit_are_kept_apart_and_count_once),
                   CASE(threads_that_take_at_once_take_no_more_than_there_is));
}
