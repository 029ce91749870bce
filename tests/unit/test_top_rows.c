/* What `vgpu top` makes of one look after the other. */
#include <string.h>

#include "clock.h"
#include "top_rows.h"
#include "unit.h"

struct bench {
        struct top top;
        struct vec usages;
        uint64_t now_ns;
};

static void bench_open(struct bench *bench)
{
        *bench = (struct bench){ .usages = VEC_OF(struct usage), .now_ns = NS_PER_S };
        top_init(&bench->top);
}

static void bench_close(struct bench *bench)
{
        vec_done(&bench->usages);
        top_done(&bench->top);
}

static struct usage *usage_add(struct bench *bench, const char *share, const char *uuid)
{
        struct usage usage = { .limit_bytes = SHARE_UNLIMITED };

        strcpy(usage.share, share);
        strcpy(usage.uuid, uuid);
        CHECK_EQ(vec_push(&bench->usages, &usage), 0);
        return vec_at(&bench->usages, bench->usages.count - 1);
}

static void look(struct bench *bench, uint64_t passed_ns)
{
        bench->now_ns += passed_ns;
        top_look(&bench->top, &bench->usages, bench->now_ns);
}

TEST(a_rate_is_gpu_time_per_time)
{
        struct bench bench;

        bench_open(&bench);
        struct usage *usage = usage_add(&bench, "a", "GPU-1");

        usage->busy_ns = 5 * NS_PER_S; /* before anybody looked */
        look(&bench, 0);
        const struct top_row *row = vec_at(&bench.top.rows, 0);

        CHECK(row->cores_ratio == 0 && row->history.count == 0);
        usage->busy_ns += 150 * NS_PER_MS;
        usage->throttled_ns += 250 * NS_PER_MS;
        look(&bench, 500 * NS_PER_MS);
        row = vec_at(&bench.top.rows, 0);
        CHECK(row->cores_ratio > 0.2999 && row->cores_ratio < 0.3001);
        CHECK(row->throttled_ratio > 0.4999 && row->throttled_ratio < 0.5001);
        CHECK_EQ(row->history.count, 1);
        bench_close(&bench);
}

TEST(a_share_made_anew_has_no_negative_rate)
{
        struct bench bench;

        bench_open(&bench);
        struct usage *usage = usage_add(&bench, "a", "GPU-1");

        usage->busy_ns = 5 * NS_PER_S;
        look(&bench, 0);
        usage->busy_ns = 1;
        look(&bench, NS_PER_S);
        CHECK(((struct top_row *)vec_at(&bench.top.rows, 0))->cores_ratio == 0);
        bench_close(&bench);
}

TEST(history_keeps_the_newest)
{
        struct bench bench;

        bench_open(&bench);
        struct usage *usage = usage_add(&bench, "a", "GPU-1");

        look(&bench, 0);
        for (unsigned i = 0; i < TOP_HISTORY + 5; i++) {
                usage->busy_ns += i < TOP_HISTORY + 4 ? 0 : NS_PER_S / 2;
                look(&bench, NS_PER_S);
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
        usage_add(&bench, "a", "GPU-2")->gpu = 1;
        usage_add(&bench, "a", "GPU-9");
        usage_add(&bench, "b", "GPU-9");
        look(&bench, 0);
        for (size_t i = 0; i < bench.usages.count; i++) {
                struct usage *usage = vec_at(&bench.usages, i);

                usage->held_bytes = 100 << i;
                usage->busy_ns = NS_PER_S / 4;
        }
        look(&bench, NS_PER_S);
        top_order(&bench.top, TOP_BY_NAME);
        const struct top_gpu *first = vec_at(&bench.top.gpus, 0);
        const struct top_gpu *second = vec_at(&bench.top.gpus, 1);

        CHECK_EQ(bench.top.gpus.count, 2);
        CHECK_STR(first->uuid, "GPU-9"); /* by number, then by name */
        CHECK_STR(second->uuid, "GPU-2");
        CHECK_EQ(first->held_bytes, 200 + 400);
        CHECK(first->cores_ratio == 0.5 && second->cores_ratio == 0.25);
        bench_close(&bench);
}

TEST(what_is_gone_vanishes)
{
        struct bench bench;

        bench_open(&bench);
        usage_add(&bench, "a", "GPU-1");
        usage_add(&bench, "b", "GPU-2");
        look(&bench, 0);
        vec_remove(&bench.usages, 1);
        look(&bench, NS_PER_S);
        CHECK_EQ(bench.top.rows.count, 1);
        CHECK_EQ(bench.top.gpus.count, 1);
        bench_close(&bench);
}

static void order_is(struct top *top, enum top_sort sort, const char *expected)
{
        char seen[8] = "";

        top_order(top, sort);
        for (size_t i = 0; i < top->rows.count; i++)
                strcat(seen, ((struct top_row *)vec_at(&top->rows, i))->usage.share);
        CHECK_STR(seen, expected);
}

TEST(order_and_filter)
{
        struct bench bench;

        bench_open(&bench);
        usage_add(&bench, "c", "GPU-1")->held_bytes = 7;
        usage_add(&bench, "a", "GPU-1")->held_bytes = 9;
        strcpy(usage_add(&bench, "b", "GPU-1")->program, "python3");
        look(&bench, 0);
        ((struct usage *)vec_at(&bench.usages, 2))->busy_ns = 5;
        look(&bench, NS_PER_S);
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
        return RUN(CASE(a_rate_is_gpu_time_per_time), CASE(a_share_made_anew_has_no_negative_rate),
                   CASE(history_keeps_the_newest), CASE(a_gpu_is_the_sum_of_its_shares),
                   CASE(what_is_gone_vanishes), CASE(order_and_filter));
}
