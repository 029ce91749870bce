/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what shares add up to on a GPU, and of growth that pods which are placed revoke. */
#include "share_growth.h"

#include <errno.h>

#include "book_bench.h"
#include "pod_peak.h"
#include "tenant_throttle.h"

#define A "00000000-0000-4000-8000-00000000000a"
#define B "00000000-0000-4000-8000-00000000000b"
#define C "00000000-0000-4000-8000-00000000000c"

struct stage {
        struct book_bench bench;
        struct share_fit fit;
        struct seen_pods pods;
        unsigned cuts;
        uint64_t memory_bytes;
        unsigned cores_percent;
};

/* 1000 MiB. */
static void stage_open(struct stage *stage)
{
        *stage = (struct stage){ 0 };
        book_bench_open(&stage->bench);
        stage->fit = (struct share_fit){ .book = stage->bench.book,
                                         .memory_scaling = 1,
                                         .cores_scaling = 1,
                                         .set = { .count = 1 },
                                         .pods = &stage->pods,
                                         .is_synced = true };
        strcpy(stage->fit.set.gpus[0].uuid, "GPU-1");
        stage->fit.set.gpus[0].memory_bytes = 1000 * MIB;
}

static void stage_close(struct stage *stage)
{
        seen_pods_done(&stage->pods);
        book_bench_close(&stage->bench);
}

static void grow(struct stage *stage, struct held_share *held, uint64_t limit_mib, unsigned cores)
{
        struct share_copy copy = *share_current(&held->share);

        copy.devices[0].limit_bytes = copy.devices[0].physical_bytes = limit_mib * MIB;
        copy.devices[0].limit_max_bytes = 1000 * MIB;
        copy.devices[0].cores_ceiling_percent = 100;
        copy.devices[0].cores_percent = cores;
        CHECK_EQ(share_book_change(stage->bench.book, held, &copy, NULL), 0);
}

static struct share_copy wish(const char *uid, const char *container, uint64_t limit_mib,
                              unsigned cores)
{
        struct share_copy copy = { .device_count = 1 };

        snprintf(copy.pod_uid, sizeof copy.pod_uid, "%s", uid);
        snprintf(copy.container, sizeof copy.container, "%s", container);
        snprintf(copy.devices[0].uuid, sizeof copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = limit_mib * MIB;
        copy.devices[0].cores_percent = cores;
        return copy;
}

static void on_cut(void *owner, const struct share_growth_cut *cut)
{
        struct stage *stage = owner;

        stage->cuts++;
        stage->memory_bytes += cut->memory_bytes;
        stage->cores_percent += cut->cores_percent;
}

static uint64_t mib_of(const struct held_share *held)
{
        return book_bench_device(held)->limit_bytes / MIB;
}

TEST(growth_gives_way_to_a_pod_that_was_placed_by_as_much_as_it_lacks)
{
        struct stage stage;

        stage_open(&stage);
        struct held_share *held = book_bench_put(&stage.bench, A, "main", 200, 10);
        grow(&stage, held, 900, 95);
        const struct share_copy placed = wish(B, "main", 300, 20);
        CHECK_EQ(share_fit_admits(&stage.fit, &placed, NULL), -ENOSPC);
        share_growth_yield(&stage.fit, &placed, on_cut, &stage);
        CHECK_EQ(share_fit_admits(&stage.fit, &placed, NULL), 0);
        CHECK_EQ(mib_of(held), 700);
        CHECK_EQ(book_bench_device(held)->physical_bytes, 700 * MIB);
        CHECK_EQ(book_bench_device(held)->cores_percent, 80);
        CHECK_EQ(stage.cuts, 2);
        CHECK_EQ(stage.memory_bytes, 200 * MIB);
        CHECK_EQ(stage.cores_percent, 15);
        stage_close(&stage);
}

TEST(the_largest_growth_goes_first_and_what_was_decided_never)
{
        struct stage stage;

        stage_open(&stage);
        struct held_share *small = book_bench_put(&stage.bench, A, "main", 200, 0);
        struct held_share *large = book_bench_put(&stage.bench, B, "main", 200, 0);
        grow(&stage, small, 300, 0);
        grow(&stage, large, 600, 0);
        const struct share_copy placed = wish(C, "main", 550, 0);
        share_growth_yield(&stage.fit, &placed, on_cut, &stage);
        CHECK_EQ(mib_of(large), 200);
        CHECK_EQ(mib_of(small), 250);
        const struct share_copy more = wish(C, "main", 700, 0);
        share_growth_yield(&stage.fit, &more, on_cut, &stage);
        CHECK_EQ(mib_of(large), 200);
        CHECK_EQ(mib_of(small), 200);
        CHECK_EQ(share_fit_admits(&stage.fit, &more, NULL), -ENOSPC);
        stage_close(&stage);
}

TEST(an_agent_that_was_started_again_knows_what_was_decided)
{
        struct stage stage;

        stage_open(&stage);
        grow(&stage, book_bench_put(&stage.bench, A, "main", 200, 0), 900, 0);
        share_book_close(stage.bench.book);
        CHECK_EQ(share_book_open(stage.bench.folder, "boot", &stage.bench.book, NULL), 0);
        stage.fit.book = stage.bench.book;
        const struct share_copy placed = wish(B, "main", 800, 0);
        share_growth_yield(&stage.fit, &placed, on_cut, &stage);
        CHECK_EQ(mib_of(share_book_find(stage.bench.book, A, "main")), 200);
        stage_close(&stage);
}

TEST(growth_is_revoked_on_full_gpus_after_sync)
{
        struct stage stage;

        stage_open(&stage);
        struct held_share *held = book_bench_put(&stage.bench, A, "main", 200, 0);
        book_bench_put(&stage.bench, B, "main", 600, 0);
        grow(&stage, held, 500, 0);
        share_growth_yield(&stage.fit, NULL, on_cut, &stage);
        CHECK_EQ(mib_of(held), 400);
        share_growth_yield(&stage.fit, NULL, on_cut, &stage);
        CHECK_EQ(stage.cuts, 1);
        stage_close(&stage);
}

TEST(what_a_throttled_share_grew_by_does_not_come_back)
{
        struct stage stage;

        stage_open(&stage);
        struct held_share *held = book_bench_put(&stage.bench, A, "main", 200, 10);
        grow(&stage, held, 900, 10);
        tenant_throttle(stage.bench.book, held);
        const struct share_copy placed = wish(B, "main", 500, 0);
        share_growth_yield(&stage.fit, &placed, on_cut, &stage);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 1);
        tenant_release(stage.bench.book, held);
        CHECK_EQ(mib_of(held), 500);
        stage_close(&stage);
}

TEST(growth_leaves_unclaimed_allocations_free)
{
        struct stage stage;
        struct seen_claim claim = { .container = "main",
                                    .uuid = "GPU-1",
                                    .limit_bytes = 300 * MIB };

        stage_open(&stage);
        struct held_share *held = book_bench_put(&stage.bench, A, "main", 200, 0);
        struct held_share *shrunk = book_bench_put(&stage.bench, B, "main", 300, 0);
        grow(&stage, shrunk, 100, 0);
        struct seen_pod *waiting = seen_pods_take(&stage.pods, C);
        seen_pod_claim(waiting, &claim);
        const struct share_copy too_much = wish(A, "main", 401, 0),
                                enough = wish(A, "main", 400, 0);
        CHECK_EQ(share_fit_allows(&stage.fit, held, &too_much, NULL), -ENOSPC);
        CHECK_EQ(share_fit_allows(&stage.fit, held, &enough, NULL), 0);
        const struct share_copy back = wish(B, "main", 300, 0); /* was decided: its own */
        grow(&stage, held, 900, 0);
        CHECK_EQ(share_fit_allows(&stage.fit, shrunk, &back, NULL), 0);
        grow(&stage, held, 200, 0);
        seen_pod_clear(waiting, "main");
        CHECK_EQ(share_fit_allows(&stage.fit, held, &too_much, NULL), 0);
        stage_close(&stage);
}

TEST(an_init_container_and_later_applications_share_one_reservation)
{
        struct stage stage;

        stage_open(&stage);
        struct share_copy init = wish(A, "init", 600, 0), app = wish(A, "main", 500, 0);
        struct share_copy sidecar = wish(A, "side", 300, 0);
        const struct gpu_device page = { 4096 * MIB, 0 };
        struct held_share *held;

        sidecar.phase = POD_SIDECAR;
        sidecar.container_index = 0;
        init.phase = POD_INIT;
        init.container_index = 1;
        app.container_index = 2;
        CHECK_EQ(share_book_make(stage.bench.book, &sidecar, &page, &held, NULL), 0);
        CHECK_EQ(share_book_make(stage.bench.book, &init, &page, &held, NULL), 0);
        CHECK_EQ(share_fit_admits(&stage.fit, &app, NULL), 0);
        CHECK_EQ(share_book_make(stage.bench.book, &app, &page, &held, NULL), 0);
        const struct share_copy beside = wish(B, "main", 100, 0), larger = wish(B, "main", 101, 0);
        CHECK_EQ(share_fit_admits(&stage.fit, &beside, NULL), 0);
        CHECK_EQ(share_fit_admits(&stage.fit, &larger, NULL), -ENOSPC);
        stage_close(&stage);
}

TEST(shares_of_unknown_pods_block_nothing_before_sync)
{
        struct stage stage;

        stage_open(&stage);
        stage.fit.is_synced = false;
        book_bench_put(&stage.bench, A, "main", 800, 0);
        const struct share_copy placed = wish(B, "main", 300, 0);
        CHECK_EQ(share_fit_admits(&stage.fit, &placed, NULL), 0);
        seen_pods_take(&stage.pods, A);
        CHECK_EQ(share_fit_admits(&stage.fit, &placed, NULL), -ENOSPC);
        stage_close(&stage);
}

TEST(a_container_with_an_id_of_64_letters_is_no_other_to_itself)
{
        static const char id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        struct stage stage;
        struct err e = { 0 };

        stage_open(&stage);
        struct held_share *held = NULL;
        struct share_copy made = wish("", id, 700, 70);
        char path[128];

        snprintf(path, sizeof path, "%s/share", stage.bench.folder);
        made.devices[0].physical_bytes = made.devices[0].limit_bytes;
        CHECK_EQ(share_create(path, &made, NULL), 0);
        CHECK_EQ(share_book_adopt(stage.bench.book, path, &held, NULL), 0);
        const struct share_copy more = wish("", id, 800, 80), most = wish("", id, 1001, 80);
        struct share_copy now = *share_current(&held->share);
        CHECK_STR(held->container, id);
        now.devices[0].limit_bytes = now.devices[0].physical_bytes = 800 * MIB;
        now.devices[0].cores_percent = 80;
        CHECK_EQ(share_fit_allows(&stage.fit, held, &now, &e), 0);
        CHECK_EQ(share_fit_admits(&stage.fit, &more, &e), 0);
        CHECK_EQ(share_fit_admits(&stage.fit, &most, &e), -ENOSPC);
        stage_close(&stage);
}

int main(void)
{
        return RUN(CASE(growth_gives_way_to_a_pod_that_was_placed_by_as_much_as_it_lacks),
                   CASE(the_largest_growth_goes_first_and_what_was_decided_never),
                   CASE(an_agent_that_was_started_again_knows_what_was_decided),
                   CASE(growth_is_revoked_on_full_gpus_after_sync),
                   CASE(what_a_throttled_share_grew_by_does_not_come_back),
                   CASE(growth_leaves_unclaimed_allocations_free),
                   CASE(an_init_container_and_later_applications_share_one_reservation),
                   CASE(shares_of_unknown_pods_block_nothing_before_sync),
                   CASE(a_container_with_an_id_of_64_letters_is_no_other_to_itself));
}
