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

int main(void)
{
        return RUN(CASE(a_share_s_wall_time_is_not_what_the_driver_ran_for_it),
                   CASE(where_both_say_the_same_the_finer_figure_stands),
                   CASE(what_ended_processes_did_is_still_their_share_s),
                   CASE(time_of_strangers_is_outside_and_lost_to_shares_with_work),
                   CASE(without_figures_of_processes_the_sum_is_scaled_to_the_gpu));
}
