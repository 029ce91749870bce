/* SPDX-License-Identifier: Apache-2.0 */
/* What `vgpu top` makes of one look after the other. */
#include <string.h>

#include "clock.h"
#include "top_bench.h"
#include "unit.h"

TEST(a_row_has_the_figures_of_the_last_second_from_the_first_sample_on)
{
        struct bench bench;

        bench_open(&bench);
        struct share_gpu *gpu = bench_share(&bench, "a", "GPU-1");

        gpu->cores_used_percent = 30;
        gpu->throttled_percent = 50;
        gpu->cores_lost_percent = 12.5;
        bench_sample(&bench, 0);
        const struct top_row *row = vec_at(&bench.top.rows, 0);

        CHECK(row->cores_ratio == 0.3 && row->history.count == 0);
        CHECK(row->throttled_ratio == 0.5 && row->lost_ratio == 0.125);
        /* A kernel of two seconds ended: the interval was shorter, and nobody used more than there is. */
        gpu->gpu_ns += 2 * NS_PER_S;
        gpu->cores_used_percent = 100;
        bench_sample(&bench, 500 * NS_PER_MS);
        row = vec_at(&bench.top.rows, 0);
        CHECK(row->cores_ratio == 1);
        CHECK_EQ(row->history.count, 1);
        CHECK(gpu->cores_used_percent == 100 && gpu->throttled_percent == 50);
        bench_close(&bench);
}

TEST(history_keeps_the_newest)
{
        struct bench bench;

        bench_open(&bench);
        struct share_gpu *gpu = bench_share(&bench, "a", "GPU-1");

        bench_sample(&bench, 0);
        for (unsigned i = 0; i < TOP_HISTORY + 5; i++) {
                gpu->cores_used_percent = i < TOP_HISTORY + 4 ? 0 : 50;
                bench_sample(&bench, NS_PER_S);
        }
        const struct top_row *row = vec_at(&bench.top.rows, 0);

        CHECK_EQ(row->history.count, TOP_HISTORY);
        CHECK(row->history.values[TOP_HISTORY - 1] == 0.5f);
        CHECK(row->history.values[TOP_HISTORY - 2] == 0);
        CHECK(!top_row_is_idle(row));
        bench_close(&bench);
}

TEST(a_gpu_is_the_sum_of_its_shares)
{
        struct bench bench;

        bench_open(&bench);
        bench_gpu(&bench, 1, "GPU-2", "B");
        bench_gpu(&bench, 0, "GPU-9", "A");
        bench_share(&bench, "a", "GPU-2");
        bench_share(&bench, "b", "GPU-9");
        bench_share(&bench, "c", "GPU-9");
        bench_sample(&bench, 0);
        for (size_t i = 0; i < bench.snapshot.shares.count; i++) {
                struct share_gpu *gpu = bench_share_at(&bench, i);

                gpu->physical_bytes = UINT64_C(100) << i;
                gpu->cores_used_percent = 25;
        }
        bench_sample(&bench, NS_PER_S);
        top_order(&bench.top, TOP_BY_NAME);
        const struct top_gpu *first = vec_at(&bench.top.gpus, 0);
        const struct top_gpu *second = vec_at(&bench.top.gpus, 1);

        CHECK_EQ(bench.top.gpus.count, 2);
        CHECK_STR(first->view.uuid, "GPU-9"); /* in the driver's order */
        CHECK_STR(second->view.uuid, "GPU-2");
        CHECK_EQ(first->held_bytes, 200 + 400);
        CHECK(first->cores_ratio == 0.5 && second->cores_ratio == 0.25);
        bench_close(&bench);
}

TEST(rows_of_gone_gpus_and_programs_vanish)
{
        struct bench bench;

        bench_open(&bench);
        bench_gpu(&bench, 0, "GPU-1", "A");
        bench_gpu(&bench, 1, "GPU-2", "A");
        bench_share(&bench, "a", "GPU-1");
        bench_stranger(&bench, "alice", 7, "GPU-2");
        bench_sample(&bench, 0);
        CHECK_EQ(bench.top.rows.count, 2);
        vec_remove(&bench.snapshot.strangers, 0);
        vec_remove(&bench.snapshot.gpus, 1);
        bench_sample(&bench, NS_PER_S);
        CHECK_EQ(bench.top.rows.count, 1);
        CHECK_EQ(bench.top.gpus.count, 1);
        bench_close(&bench);
}

TEST(two_users_with_one_name_are_two_rows)
{
        struct bench bench;

        bench_open(&bench);
        bench_share(&bench, "train", "GPU-1");
        bench_share(&bench, "train", "GPU-1")->cores_used_percent = 40;
        strcpy(((struct share_view *)vec_at(&bench.snapshot.shares, 1))->user, "alice");
        bench_sample(&bench, 0);
        bench_sample(&bench, NS_PER_S);
        CHECK_EQ(bench.top.rows.count, 2);
        CHECK(((struct top_row *)vec_at(&bench.top.rows, 0))->cores_ratio == 0);
        bench_close(&bench);
}

/* Full use is what a GPU is for; trouble is what somebody must do something about. */
TEST(trouble_is_not_full_use)
{
        struct bench bench;

        bench_open(&bench);
        struct share_gpu *gpu = bench_share(&bench, "a", "GPU-1");
        const struct top_row *row;

        gpu->limit_bytes = 1000;
        gpu->physical_bytes = 999;
        gpu->cores_percent = 30;
        bench_sample(&bench, 0);
        gpu->cores_used_percent = 30;
        bench_sample(&bench, NS_PER_S);
        row = vec_at(&bench.top.rows, 0);
        CHECK_EQ(row->trouble, TOP_WELL);
        gpu->physical_bytes = 1000;
        bench_sample(&bench, NS_PER_S);
        CHECK_EQ(row->trouble, TOP_AT_LIMIT);
        gpu->physical_bytes = 1001;
        bench_sample(&bench, NS_PER_S);
        CHECK_EQ(row->trouble, TOP_OVER_LIMIT);
        gpu->physical_bytes = 10;
        gpu->refusals = 1;
        bench_sample(&bench, NS_PER_S);
        CHECK_EQ(row->trouble, TOP_REFUSED);
        bench_sample(&bench, 20 * NS_PER_S);
        CHECK_EQ(row->trouble, TOP_WELL);
        gpu->cores_used_percent = 60;
        bench_sample(&bench, NS_PER_S);
        CHECK_EQ(row->trouble, TOP_OVER_CORES);
        bench_close(&bench);
}

static void order_is(struct top *top, enum top_sort sort, const char *expected)
{
        char seen[8] = "";

        top_order(top, sort);
        for (size_t i = 0; i < top->rows.count; i++)
                strcat(seen, ((struct top_row *)vec_at(&top->rows, i))->share);
        CHECK_STR(seen, expected);
}

TEST(order_and_filter)
{
        struct bench bench;

        bench_open(&bench);
        bench_share(&bench, "c", "GPU-1")->physical_bytes = 7;
        bench_share(&bench, "a", "GPU-1")->physical_bytes = 9;
        bench_share(&bench, "b", "GPU-1");
        strcpy(((struct share_view *)vec_at(&bench.snapshot.shares, 2))->program, "python3");
        bench_sample(&bench, 0);
        bench_share_at(&bench, 2)->cores_used_percent = 5;
        bench_sample(&bench, NS_PER_S);
        order_is(&bench.top, TOP_BY_CORES, "bac");
        order_is(&bench.top, TOP_BY_MEMORY, "acb");
        order_is(&bench.top, TOP_BY_NAME, "abc");
        const struct top_row *b = vec_at(&bench.top.rows, 1);

        CHECK(top_passes(b, "") && top_passes(b, "pyth") && top_passes(b, "b"));
        CHECK(!top_passes(b, "train"));
        bench_close(&bench);
}

int main(void)
{
        return RUN(CASE(a_row_has_the_figures_of_the_last_second_from_the_first_sample_on),
                   CASE(history_keeps_the_newest), CASE(a_gpu_is_the_sum_of_its_shares),
                   CASE(rows_of_gone_gpus_and_programs_vanish),
                   CASE(two_users_with_one_name_are_two_rows), CASE(trouble_is_not_full_use),
                   CASE(order_and_filter));
}
