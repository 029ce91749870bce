/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arbiter with tenants in the same process: it answers doorbells, and says who needs time slices. */
#include "arbiter.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "arbiter_bench.h"
#include "futex.h"
#include "futex_set.h"
#include "unit.h"

TEST(tenants_get_time_slices_on_request)
{
        struct bench bench;

        bench_open(&bench);
        timeslices_take(&bench, 0, 6);
        bench_close(&bench);
}

static void *begin_first(void *argument)
{
        struct bench *bench = argument;

        gpu_timeslice_begin(&bench->timeslices[0]);
        return NULL;
}

/* Nothing else of its container wants, so that the arbiter sleeps while the other has the GPU alone. */
TEST(without_a_process_slot_nobody_goes_on_beside_the_holder)
{
        struct bench bench;
        pthread_t thread;

        bench_open(&bench);
        struct gpu_want *want = bench.timeslices[0].want;
        for (unsigned i = 0; i < GPU_SLOTS; i++)
                atomic_store(&want->slots[i].pid, (uint32_t)getppid());
        atomic_store(&want->slots_high, GPU_SLOTS);
        gpu_timeslice_begin(&bench.timeslices[1]);
        const uint32_t held = bench.timeslices[1].number;
        assert_int_equal(pthread_create(&thread, NULL, begin_first, &bench), 0);
        usleep(300000);
        CHECK_EQ(bench.timeslices[0].number, 0);
        CHECK_EQ(atomic_load(&bench.timeslices[1].grant->timeslice), held);
        gpu_timeslice_end(&bench.timeslices[1], false);
        atomic_store(&want->slots[7].pid, 0);
        pthread_join(thread, NULL);
        assert_true(bench.timeslices[0].slot == &want->slots[7]);
        CHECK_EQ(bench.timeslices[0].until_ns, 0);
        gpu_timeslice_end(&bench.timeslices[0], false);
        bench_close(&bench);
}

/* More than the kernel takes in one call: the last ones ring as well as the first, also when one of them has
 * gone. */
TEST(hundreds_of_tenants_get_time_slices_on_request)
{
        struct bench bench;
        char path[128];

        bench_open_with(&bench, MANY);
        timeslices_take(&bench, 0, MANY);
        timeslices_take(&bench, MANY - 3, MANY + 3);
        futex_ring(&bench.members);
        pthread_join(bench.thread, NULL);
        path_in(&bench, 200, "share", path);
        arbiter_remove(bench.arbiter, path);
        atomic_store(&bench.members, 0);
        arbiter_step(bench.arbiter);
        assert_int_equal(pthread_create(&bench.thread, NULL, arbitrate, &bench), 0);
        timeslices_take(&bench, 201, MANY);
        bench_close(&bench);
}

/* Of a share: what its processes read before every launch. */
static uint32_t limits_of(const struct share *share)
{
        return atomic_load(&share->file->limits_compute);
}

TEST(a_tenant_without_a_limit_gets_time_slices_beside_a_limited_one)
{
        struct bench bench = { 0 };
        struct share shares[TENANTS];
        struct err e = { 0 };
        char path[128];

        bench.arbiter = arbiter_new(&bench.members);
        for (int i = 0; i < TENANTS; i++) {
                tenant_make(&bench, i);
                path_in(&bench, i, "share", path);
                assert_int_equal(share_open(path, true, &shares[i], &e), 0);
        }
        arbiter_step(bench.arbiter);
        CHECK_EQ(limits_of(&shares[1]), 0);
        cores_set(&shares[0], 30);
        arbiter_step(bench.arbiter);
        CHECK_EQ(limits_of(&shares[0]), SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_TIMESLICES);
        CHECK_EQ(limits_of(&shares[1]), SHARE_LIMITS_TIMESLICES);
        CHECK_EQ(atomic_load(&bench.timeslices[1].grant->weight), 70);
        cores_set(&shares[1], 20); /* what the arbiter says stays */
        CHECK_EQ(limits_of(&shares[1]), SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_TIMESLICES);
        cores_set(&shares[1], 0);
        cores_set(&shares[0], 0);
        arbiter_step(bench.arbiter);
        CHECK_EQ(limits_of(&shares[0]), 0);
        CHECK_EQ(limits_of(&shares[1]), 0);
        for (int i = 0; i < TENANTS; i++)
                share_close(&shares[i]);
        bench_remove(&bench);
}

TEST(tenants_are_heard_without_futex_waitv)
{
        struct bench bench;

        futex_set_use_threads(true);
        bench_open(&bench);
        timeslices_take(&bench, 0, 6);
        bench_close(&bench);
        futex_set_use_threads(false);
}

int main(void)
{
        return RUN(CASE(tenants_get_time_slices_on_request),
                   CASE(without_a_process_slot_nobody_goes_on_beside_the_holder),
                   CASE(hundreds_of_tenants_get_time_slices_on_request),
                   CASE(a_tenant_without_a_limit_gets_time_slices_beside_a_limited_one),
                   CASE(tenants_are_heard_without_futex_waitv));
}
