/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arbiter beside tenants that write into their own files: none harms another, or gets more. */
#include "arbiter.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arbiter_bench.h"
#include "futex.h"
#include "futex_set.h"
#include "unit.h"

TEST(a_tenant_that_truncates_its_file_loses_only_its_own_time_slices)
{
        struct bench bench;
        char want[128];

        bench_open(&bench);
        gpu_timeslice_begin(&bench.timeslices[0]);
        path_in(&bench, 1, "want", want);
        assert_int_equal(truncate(want, 0), 0);
        gpu_timeslice_end(&bench.timeslices[0], false);
        for (int i = 0; i < 3; i++) {
                /* Something to do: the arbiter reads everybody's page. */
                futex_ring(&bench.timeslices[0].wants->bell);
                gpu_timeslice_begin(&bench.timeslices[0]);
                CHECK_EQ(bench.timeslices[0].until_ns, 0);
                gpu_timeslice_end(&bench.timeslices[0], false);
        }
        gpu_want_unmap(bench.timeslices[1].wants);
        bench.timeslices[1].wants = NULL;
        bench_close(&bench);
}

/* The arbiter's thread that waits for that tenant's doorbell sleeps on a page that is gone. */
TEST(nor_does_it_hold_up_an_arbiter_that_waits_by_threads)
{
        struct bench bench;
        char want[128];

        futex_set_use_threads(true);
        bench_open(&bench);
        timeslices_take(&bench, 0, 1);
        path_in(&bench, 1, "want", want);
        assert_int_equal(truncate(want, 0), 0);
        gpu_want_unmap(bench.timeslices[1].wants);
        bench.timeslices[1].wants = NULL;
        for (int i = 0; i < 3; i++) {
                futex_ring(&bench.timeslices[0].wants->bell);
                timeslices_take(&bench, 0, 1);
        }
        bench_close(&bench);
        futex_set_use_threads(false);
}

/* A tenant that writes to its own files while the arbiter reads them, by a mapping of its own as another
 * process would. */
struct liar {
        char share[128], grant[128];
        struct share own;
        struct gpu_grant_file *grants;
        _Atomic bool is_ending;
        pthread_t thread;
};

static void *lie(void *argument)
{
        struct liar *liar = argument;
        struct share_file *file = liar->own.file;

        for (uint32_t i = 0; !atomic_load(&liar->is_ending); i++) {
                const uint32_t count = i & 1 ? 1 : 0x7fffffff;

                __atomic_store_n(&file->copies[0].device_count, count, __ATOMIC_SEQ_CST);
                __atomic_store_n(&liar->grants->device_count, count, __ATOMIC_SEQ_CST);
                atomic_store(&file->index, i >> 4 & 1); /* the other copy: never right */
                for (int pause = 0; pause < 200; pause++)
                        __asm__ volatile("");
        }
        return NULL;
}

static void liar_open(struct liar *liar, const struct bench *bench)
{
        struct err e = { 0 };

        memset(liar, 0, sizeof *liar);
        path_in(bench, 0, "share", liar->share);
        path_in(bench, 0, "grant", liar->grant);
        assert_int_equal(share_open(liar->share, true, &liar->own, &e), 0);
        assert_int_equal(gpu_grant_map(liar->grant, PROT_READ | PROT_WRITE, &liar->grants, &e), 0);
        memset((void *)&liar->own.file->copies[1], 0xff, sizeof liar->own.file->copies[1]);
}

static void liar_close(struct liar *liar)
{
        share_close(&liar->own);
        gpu_grant_unmap(liar->grants);
}

TEST(a_tenant_that_changes_its_count_of_devices_while_it_is_read_harms_nobody)
{
        enum { ROUNDS = 3000 };
        struct bench bench = { 0 };
        struct liar liar;
        struct err e = { 0 };
        int let_in = 0;

        bench.arbiter = arbiter_new(&bench.members);
        tenant_make(&bench, 0);
        liar_open(&liar, &bench);
        assert_int_equal(pthread_create(&liar.thread, NULL, lie, &liar), 0);
        for (int i = 0; i < ROUNDS; i++) {
                arbiter_step(bench.arbiter);
                arbiter_remove(bench.arbiter, liar.share);
                let_in += arbiter_add(bench.arbiter, liar.share, &e) == 0;
        }
        atomic_store(&liar.is_ending, true);
        pthread_join(liar.thread, NULL);
        CHECK(let_in > 0); /* the race was run: some reads were of files that were right */
        liar_close(&liar);
        bench_remove(&bench);
}

TEST(a_copy_that_was_never_checked_changes_no_limit)
{
        struct bench bench = { 0 };
        struct liar liar;

        bench.arbiter = arbiter_new(&bench.members);
        tenant_make(&bench, 0);
        tenant_make(&bench, 1);
        liar_open(&liar, &bench);
        cores_set(&liar.own, 30); /* to the copy that was not in use */
        memset((void *)&liar.own.file->copies[0], 0xff, sizeof liar.own.file->copies[0]);
        arbiter_step(bench.arbiter);
        CHECK_EQ(atomic_load(&bench.timeslices[0].grant->weight), 30);
        atomic_store(&liar.own.file->index, 0);
        arbiter_step(bench.arbiter);
        CHECK_EQ(atomic_load(&bench.timeslices[0].grant->weight), 30);
        CHECK_EQ(atomic_load(&bench.timeslices[1].grant->weight), 70);
        atomic_store(&liar.own.file->index, 1);
        cores_set(&liar.own, 40); /* what is right is heard again */
        arbiter_step(bench.arbiter);
        CHECK_EQ(atomic_load(&bench.timeslices[0].grant->weight), 40);
        liar_close(&liar);
        bench_remove(&bench);
}

static uint32_t weight_of(const struct bench *bench, int tenant)
{
        return atomic_load(&bench->timeslices[tenant].grant->weight);
}

/* However many there are, and whatever is written in them. */
TEST(the_shares_of_a_user_weigh_no_more_than_one_gpu)
{
        enum { SHARES = 5 };
        struct bench bench = { 0 };
        struct share share;
        char path[128];

        if (getuid() != 0)
                skip();
        bench.arbiter = arbiter_new(&bench.members);
        for (int i = 0; i < SHARES; i++) {
                tenant_make(&bench, i);
                path_in(&bench, i, "share", path);
                CHECK_EQ(share_open(path, true, &share, NULL), 0);
                limits_set(&share, i ? 100 : 60, i ? 10000 : 0);
                share_close(&share);
                if (i)
                        folder_give(&bench, i, i < SHARES - 1 ? 1000 : 1001);
        }
        arbiter_step(bench.arbiter);
        CHECK_EQ(weight_of(&bench, 0), 60);
        for (int i = 1; i < SHARES - 1; i++)
                CHECK_EQ(weight_of(&bench, i), 33);
        CHECK_EQ(weight_of(&bench, SHARES - 1), 100);
        path_in(&bench, 1, "share", path);
        arbiter_remove(bench.arbiter, path);
        arbiter_step(bench.arbiter);
        CHECK_EQ(weight_of(&bench, 2), 50);
        bench_remove(&bench);
}

int main(void)
{
        return RUN(CASE(a_tenant_that_truncates_its_file_loses_only_its_own_time_slices),
                   CASE(nor_does_it_hold_up_an_arbiter_that_waits_by_threads),
                   CASE(a_tenant_that_changes_its_count_of_devices_while_it_is_read_harms_nobody),
                   CASE(a_copy_that_was_never_checked_changes_no_limit),
                   CASE(the_shares_of_a_user_weigh_no_more_than_one_gpu));
}
