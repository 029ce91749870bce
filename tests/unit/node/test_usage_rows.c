/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whose a GPU's time was: containers by their processes' pids, strangers by what remains. */
#include "usage_rows.h"

#include <math.h>

#include "gpu_process.h"
#include "unit.h"

static void process_add(struct vec *processes, uint32_t pid, unsigned percent)
{
        const struct gpu_process process = {
                .uuid = "GPU-a", .pid = pid, .busy_percent = percent, .is_busy_told = true
        };

        vec_push(processes, &process);
}

static int percent(double ratio)
{
        return (int)(ratio * 100 + 0.5);
}

TEST(a_container_has_what_the_driver_gave_its_processes_and_strangers_the_others)
{
        const struct gpu gpu = { .uuid = "GPU-a", .busy_percent = 100 };
        struct vec processes = VEC_OF(struct gpu_process);
        struct usage_rows usage;
        double used = NAN, lost = NAN, idle_used = NAN, idle_lost = NAN;

        process_add(&processes, 7, 20);
        process_add(&processes, 8, 10);
        process_add(&processes, 9, 70);
        usage_rows_init(&usage, &processes);
        const int row = usage_rows_add(&usage, "GPU-a", 0.55, &used, &lost);
        usage_rows_take(&usage, row, 7);
        usage_rows_take(&usage, row, 8);
        usage_rows_take(&usage, row, 0); /* its pid out here is not known */
        usage_rows_add(&usage, "GPU-b", 0.5, &idle_used, &idle_lost);
        CHECK_EQ(percent(usage_rows_split(&usage, &gpu)), 70);
        CHECK_EQ(percent(used), 30);
        CHECK_EQ(percent(lost), 25);
        CHECK(isnan(idle_used));
        usage_rows_done(&usage);
        vec_done(&processes);
}

TEST(where_the_driver_tells_nothing_the_region_s_figure_stands)
{
        const struct gpu gpu = { .uuid = "GPU-a", .is_mig = true };
        struct usage_rows usage;
        double used = NAN, lost = NAN;

        usage_rows_init(&usage, NULL);
        usage_rows_take(&usage, usage_rows_add(&usage, "GPU-a", 0.4, &used, &lost), 7);
        CHECK(isnan(usage_rows_split(&usage, &gpu)));
        CHECK_EQ(percent(used), 40);
        CHECK(isnan(lost));
        usage_rows_done(&usage);
}

int main(void)
{
        return RUN(
                CASE(a_container_has_what_the_driver_gave_its_processes_and_strangers_the_others),
                CASE(where_the_driver_tells_nothing_the_region_s_figure_stands));
}
