/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whose a GPU's time was: containers by their processes' pids, strangers by what remains. */
#include "usage_rows.h"

#include "gpu_process.h"
#include "unit.h"

static void process_add(struct vec *processes, uint32_t pid, unsigned percent)
{
        const struct gpu_process process = {
                .uuid = "GPU-a", .pid = pid, .busy_percent = percent, .is_busy_told = true
        };

        vec_push(processes, &process);
}

static int percent(double figure)
{
        return (int)(figure + 0.5);
}

TEST(a_container_has_what_the_driver_gave_its_processes_and_strangers_the_others)
{
        struct gpu_usage gpu = { .busy = 100, .is_busy_told = true };
        struct vec processes = VEC_OF(struct gpu_process);
        struct usage_rows usage;

        process_add(&processes, 7, 20);
        process_add(&processes, 8, 10);
        process_add(&processes, 9, 70);
        usage_rows_init(&usage, &processes);
        const int row = usage_rows_add(&usage, "GPU-a", &(struct gpu_usage_part){ .own = 55 });
        const int idle = usage_rows_add(&usage, "GPU-b", &(struct gpu_usage_part){ .own = 50 });
        usage_rows_take(&usage, row, 7);
        usage_rows_take(&usage, row, 8);
        usage_rows_take(&usage, row, 0); /* its pid out here is not known */
        usage_rows_split(&usage, "GPU-a", &gpu);
        CHECK_EQ(percent(gpu.outside), 70);
        CHECK_EQ(percent(usage_rows_at(&usage, row)->part.used), 30);
        CHECK_EQ(percent(usage_rows_at(&usage, row)->part.lost), 25);
        CHECK(usage_rows_at(&usage, row)->is_lost_known);
        /* Of the other GPU nothing was said yet. */
        CHECK_EQ(percent(usage_rows_at(&usage, idle)->part.used), 50);
        CHECK(!usage_rows_at(&usage, idle)->is_lost_known);
        CHECK(!usage_rows_at(&usage, -1));
        usage_rows_done(&usage);
        vec_done(&processes);
}

TEST(where_the_driver_tells_nothing_the_region_s_figure_stands)
{
        struct gpu_usage gpu = { 0 };
        struct usage_rows usage;

        usage_rows_init(&usage, NULL);
        const int row = usage_rows_add(&usage, "GPU-a", &(struct gpu_usage_part){ .own = 40 });
        const int silent =
                usage_rows_add(&usage, "GPU-a", &(struct gpu_usage_part){ .is_unlimited = true });
        usage_rows_take(&usage, row, 7);
        usage_rows_split(&usage, "GPU-a", &gpu);
        CHECK(!gpu.is_told);
        CHECK_EQ(percent(usage_rows_at(&usage, row)->part.used), 40);
        CHECK(!usage_rows_at(&usage, row)->is_lost_known);
        CHECK(usage_rows_at(&usage, row)->is_used_known);
        CHECK(!usage_rows_at(&usage, silent)->is_used_known); /* and not 0 */
        usage_rows_done(&usage);
}

/* Of a MIG device nobody tells; two shares of one cannot have used more than there is. */
TEST(shares_of_one_device_never_add_up_to_more_than_it)
{
        struct gpu_usage gpu = { 0 };
        struct usage_rows usage;

        usage_rows_init(&usage, NULL);
        const int a = usage_rows_add(&usage, "MIG-a", &(struct gpu_usage_part){ .own = 90 });
        const int b = usage_rows_add(&usage, "MIG-a", &(struct gpu_usage_part){ .own = 60 });
        usage_rows_split(&usage, "MIG-a", &gpu);
        CHECK_EQ(percent(usage_rows_at(&usage, a)->part.used), 60);
        CHECK_EQ(percent(usage_rows_at(&usage, b)->part.used), 40);
        usage_rows_done(&usage);
}

int main(void)
{
        return RUN(
                CASE(a_container_has_what_the_driver_gave_its_processes_and_strangers_the_others),
                CASE(where_the_driver_tells_nothing_the_region_s_figure_stands),
                CASE(shares_of_one_device_never_add_up_to_more_than_it));
}
