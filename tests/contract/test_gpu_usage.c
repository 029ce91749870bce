/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the split of a GPU's time between shares, as regions and the driver tell it. */
#include "gpu_usage.h"

#include "unit.h"

static int tenths(double percent)
{
        return (int)(percent * 10 + 0.5);
}

TEST(a_share_s_wall_time_is_not_what_the_driver_ran_for_it)
{
        struct gpu_usage gpu = { .busy = 100, .is_busy_told = true, .is_told = true };
        struct gpu_usage_part parts[] = { { .own = 40, .told = 26, .rounded = 1 },
                                          { .own = 87, .told = 74, .rounded = 1 } };

        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 260);
        CHECK_EQ(tenths(parts[1].used), 740);
        CHECK_EQ(tenths(parts[0].lost + parts[1].lost), 0);
}

TEST(where_both_say_the_same_the_finer_figure_stands)
{
        struct gpu_usage gpu = { .busy = 51, .is_busy_told = true, .is_told = true };
        struct gpu_usage_part parts[] = { { .own = 30.4, .told = 30, .rounded = 1 },
                                          { .own = 18.3, .told = 21, .rounded = 8 } };

        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 304);
        CHECK_EQ(tenths(parts[1].used), 183); /* eight processes, each rounded up */
        parts[0].own = 30.9;                  /* it would have been told as 31 */
        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 305);
}

TEST(what_ended_processes_did_is_still_their_share_s)
{
        struct gpu_usage gpu = { .busy = 90, .is_busy_told = true, .is_told = true };
        struct gpu_usage_part parts[] = { { .own = 29, .told = 4, .rounded = 1, .has_ended = true },
                                          { .own = 60, .told = 60, .rounded = 1 } };

        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 290);
        CHECK_EQ(tenths(parts[1].used), 600);
        /* Where none has ended, the remainder is somebody else's. */
        parts[0].has_ended = false;
        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 40);
        CHECK_EQ(tenths(gpu.outside), 260);
        /* The last work of those that were killed is in no region. */
        parts[0].has_ended = true;
        gpu = (struct gpu_usage){ .busy = 93, .is_busy_told = true, .is_told = true };
        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 330);
        CHECK_EQ(tenths(gpu.outside), 0);
}

TEST(time_of_strangers_is_outside_and_lost_to_shares_with_work)
{
        struct gpu_usage gpu = {
                .busy = 100, .outside = 50, .is_busy_told = true, .is_told = true
        };
        struct gpu_usage_part parts[] = { { .own = 60, .told = 30 }, { .own = 20, .told = 20 } };

        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 300);
        CHECK_EQ(tenths(parts[0].lost), 300);
        CHECK_EQ(tenths(parts[1].lost), 0);
        CHECK_EQ(tenths(gpu.outside), 500);
}

TEST(without_figures_of_processes_the_sum_is_scaled_to_the_gpu)
{
        struct gpu_usage gpu = { .busy = 80, .is_busy_told = true };
        struct gpu_usage_part parts[] = { { .own = 40 }, { .own = 120 } };

        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 200);
        CHECK_EQ(tenths(parts[1].used), 600);
        gpu = (struct gpu_usage){ 0 };
        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used + parts[1].used), 1000);
        gpu_usage_split(&gpu, parts, 0);
}

TEST(strangers_that_ended_are_outside_and_not_a_share_s)
{
        struct gpu_usage gpu = { .busy = 100, .outside = 5, .is_busy_told = true, .is_told = true };
        struct gpu_usage_part part = { .own = 100, .told = 60 };

        gpu_usage_split(&gpu, &part, 1);
        CHECK_EQ(tenths(part.used), 600);
        CHECK_EQ(tenths(gpu.outside), 400);
        CHECK_EQ(tenths(part.lost), 400);
        /* What the GPU's own figure is off by is nobody's. */
        gpu = (struct gpu_usage){ .busy = 61.5, .is_busy_told = true, .is_told = true };
        part = (struct gpu_usage_part){ .own = 60, .told = 60, .rounded = 1 };
        gpu_usage_split(&gpu, &part, 1);
        CHECK_EQ(tenths(gpu.outside), 0);
}

TEST(ended_processes_of_a_share_that_measures_nothing_have_the_remainder)
{
        struct gpu_usage gpu = { .busy = 90, .is_busy_told = true, .is_told = true };
        struct gpu_usage_part parts[] = {
                { .own = 29, .told = 4, .has_ended = true },
                { .told = 10, .is_unlimited = true, .has_ended = true },
        };

        gpu_usage_split(&gpu, parts, 2);
        CHECK_EQ(tenths(parts[0].used), 290);
        CHECK_EQ(tenths(parts[1].used), 610);
        CHECK_EQ(tenths(parts[1].lost), 0);
        CHECK_EQ(tenths(gpu.outside), 0);
        /* Nobody tells: it is not known, and not what the region does not have. */
        gpu = (struct gpu_usage){ 0 };
        gpu_usage_split(&gpu, parts, 2);
        CHECK(!gpu_usage_is_known(&gpu, &parts[1]));
        CHECK(gpu_usage_is_known(&gpu, &parts[0]));
}

TEST(whole_percents_of_many_processes_are_corrected_by_the_gpu_s_own_figure)
{
        struct gpu_usage gpu = {
                .busy = 99, .outside = 4, .rounded = 4, .is_busy_told = true, .is_told = true
        };
        struct gpu_usage_part parts[] = { { .told = 20, .rounded = 8, .is_unlimited = true },
                                          { .told = 72, .rounded = 8, .is_unlimited = true } };

        gpu_usage_split(&gpu, parts, 2); /* 3 points are missing, of 20 figures */
        CHECK_EQ(tenths(parts[0].used), 212);
        CHECK_EQ(tenths(parts[1].used), 732);
        CHECK_EQ(tenths(gpu.outside), 46);
}

int main(void)
{
        return RUN(CASE(a_share_s_wall_time_is_not_what_the_driver_ran_for_it),
                   CASE(where_both_say_the_same_the_finer_figure_stands),
                   CASE(what_ended_processes_did_is_still_their_share_s),
                   CASE(time_of_strangers_is_outside_and_lost_to_shares_with_work),
                   CASE(without_figures_of_processes_the_sum_is_scaled_to_the_gpu),
                   CASE(strangers_that_ended_are_outside_and_not_a_share_s),
                   CASE(ended_processes_of_a_share_that_measures_nothing_have_the_remainder),
                   CASE(whole_percents_of_many_processes_are_corrected_by_the_gpu_s_own_figure));
}
