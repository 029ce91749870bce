/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a process leaves to a device: charged to the container once, by whoever reaps it. */
#include "region_pending.h"

#include <stdlib.h>

#include "clock.h"
#include "region_compute.h"
#include "unit.h"

#define MS    ((uint64_t)NS_PER_MS)
#define BEGIN (1000 * (uint64_t)NS_PER_S)

/* Sparse: only what is touched takes memory. */
static struct region_file *file_new(void)
{
        struct region_file *file = calloc(1, sizeof *file);

        assert_non_null(file);
        /* Somebody was charged under a limit of 30 %: what was saved up is used. */
        const struct compute_rate rate = region_compute_rate(&file->computes[0], 300);
        CHECK_EQ(region_compute_take(&file->computes[0], rate, BEGIN, rate.depth_ns), 0);
        return file;
}

static uint64_t owed_ms(struct region_file *file, uint64_t now_ns)
{
        struct compute_rate rate = region_compute_rate(&file->computes[0], 300);

        return (region_compute_owed_ns(&file->computes[0], rate, now_ns) + MS / 2) / MS;
}

TEST(what_was_not_charged_is_charged_once)
{
        struct region_file *file = file_new();

        region_pending_note(&file->slots[1], 0, BEGIN, 2 * MS, BEGIN + 16 * MS);
        region_pending_charge(file, &file->slots[1], BEGIN + 500 * MS);
        /* 16 ms at work, half of the 2 until it would have looked again; 2 were paid for. */
        CHECK_EQ(atomic_load(&file->computes[0].gpu_ns) / MS, 17);
        CHECK_EQ(owed_ms(file, BEGIN + 17 * MS), 50 - 17);
        region_pending_charge(file, &file->slots[1], BEGIN + 500 * MS);
        CHECK_EQ(atomic_load(&file->computes[0].gpu_ns) / MS, 17);
        free(file);
}

TEST(it_was_at_work_until_now_at_most)
{
        struct region_file *file = file_new();

        region_pending_note(&file->slots[1], 0, BEGIN, 0, BEGIN + 80 * MS);
        region_pending_charge(file, &file->slots[1], BEGIN + 81 * MS);
        CHECK_EQ(atomic_load(&file->computes[0].gpu_ns) / MS, 81);
        free(file);
}

TEST(what_others_counted_already_is_not_counted_again)
{
        struct region_file *file = file_new();

        region_compute_cover(&file->computes[0], BEGIN, BEGIN + 10 * MS);
        region_pending_note(&file->slots[1], 0, BEGIN, 0, BEGIN + 16 * MS);
        region_pending_charge(file, &file->slots[1], BEGIN + 500 * MS);
        CHECK_EQ(atomic_load(&file->computes[0].gpu_ns) / MS, 7);
        free(file);
}

TEST(a_process_that_settled_all_leaves_nothing)
{
        struct region_file *file = file_new();

        region_pending_note(&file->slots[1], 0, BEGIN, 0, BEGIN + 16 * MS);
        region_pending_note(&file->slots[1], 0, 0, 0, BEGIN + 17 * MS);
        region_pending_charge(file, &file->slots[1], BEGIN + 500 * MS);
        CHECK_EQ(atomic_load(&file->computes[0].gpu_ns), 0);
        free(file);
}

/* Bytes of a container: they mean no more than time that has passed. */
TEST(nonsense_is_bounded)
{
        struct region_file *file = file_new();

        for (unsigned i = 1; i < 64; i++) {
                atomic_store(&file->slots[1].pendings[0].word, UINT64_MAX >> i);
                atomic_store(&file->slots[1].pendings[0].seen_ns, UINT64_MAX << i);
                region_pending_charge(file, &file->slots[1], BEGIN);
        }
        CHECK(atomic_load(&file->computes[0].gpu_ns) <= 64 * BEGIN);
        CHECK(owed_ms(file, BEGIN) <= 64 * BEGIN / MS * 10 / 3);
        free(file);
}

int main(void)
{
        return RUN(CASE(what_was_not_charged_is_charged_once),
                   CASE(it_was_at_work_until_now_at_most),
                   CASE(what_others_counted_already_is_not_counted_again),
                   CASE(a_process_that_settled_all_leaves_nothing), CASE(nonsense_is_bounded));
}
