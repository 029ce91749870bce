/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of one process on one region: reservations, notes and measurements at once. Also under TSan. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "ledger.h"
#include "physical.h"
#include "presence.h"
#include "unit.h"

#define BLOCK ((uint64_t)LEDGER_GRANULE_BYTES)

enum { THREADS = 6, ROUNDS = 3000, LIMIT_BLOCKS = 40 };

static char path[64];

static int open_once(void **state)
{
        struct err e = { 0 };

        (void)state;
        snprintf(path, sizeof path, "/dev/shm/vgpu-test-ledger-threads-%d", getpid());
        return ledger_open(path, 2, &e);
}

static int remove_once(void **state)
{
        (void)state;
        return unlink(path);
}

/* As an allocation and its free come in: some whole, some small, all in the thread's own addresses. */
static void allocate_once(uint64_t base, unsigned round)
{
        uint64_t blocks = 1 + round % 3, key = base + round % 64 * BLOCK;
        struct charge charge;

        presence_enter();
        if (ledger_reserve(0, blocks * BLOCK, LIMIT_BLOCKS * BLOCK, &charge) == 0) {
                if (blocks == 1)
                        ledger_settle_small(&charge, key + round % 8 * 512);
                else
                        ledger_settle(&charge, key, round % 2 ? HOLDING_DEVICE : HOLDING_MANAGED);
                ledger_release(blocks == 1 ? key + round % 8 * 512 : key);
        }
        presence_leave();
}

/* As a context is made: alone, with the remainder in hand. */
static bool measure_once(uint64_t base)
{
        struct charge charge;
        uint64_t before, after;

        presence_lock();
        before = ledger_used_bytes(0);
        ledger_measure(0);
        int r = ledger_reserve_remainder(0, 0, LIMIT_BLOCKS * BLOCK, &charge);
        if (r == 0) {
                ledger_adjust(&charge, BLOCK);
                ledger_settle_more(&charge, base | UINT64_C(1) << 60, HOLDING_CONTEXT);
        }
        ledger_measured(0);
        if (r == 0) {
                ledger_shrink(base | UINT64_C(1) << 60, BLOCK);
        }
        after = ledger_used_bytes(0);
        presence_unlock();
        return r == 0 && before == 0 && after == 0;
}

static void *work(void *number)
{
        uint64_t base = ((uint64_t)(uintptr_t)number + 1) << 40;
        uintptr_t bad = 0;

        for (unsigned round = 0; round < ROUNDS; round++) {
                allocate_once(base, round);
                if (round % 50 == 0)
                        bad += !measure_once(base);
                if (round % 100 == 0)
                        ledger_reap_to_refuse();
                bad += ledger_used_bytes(0) > LIMIT_BLOCKS * BLOCK;
        }
        return (void *)bad;
}

TEST(threads_share_the_region_and_measure_alone)
{
        pthread_t threads[THREADS];
        void *bad;

        for (uintptr_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
        for (unsigned i = 0; i < THREADS; i++) {
                assert_int_equal(pthread_join(threads[i], &bad), 0);
                CHECK_EQ((uintptr_t)bad, 0);
        }
        CHECK_EQ(ledger_used_bytes(0), 0);
}

/* Physical memory: made, mapped and let go by each thread, under handles of its own. */
static void *map(void *number)
{
        uint64_t handle = ((uint64_t)(uintptr_t)number + 1) << 32;

        for (unsigned round = 0; round < ROUNDS; round++) {
                struct charge charge;
                if (ledger_reserve(1, BLOCK, UINT64_MAX, &charge) < 0)
                        return (void *)1;
                physical_add(&charge, handle);
                physical_map(handle, handle << 4, BLOCK);
                physical_release(handle);
                physical_unmap(handle << 4, BLOCK);
        }
        return NULL;
}

TEST(physical_memory_of_threads)
{
        pthread_t threads[THREADS];
        void *bad;

        for (uintptr_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, map, (void *)i), 0);
        for (unsigned i = 0; i < THREADS; i++) {
                assert_int_equal(pthread_join(threads[i], &bad), 0);
                CHECK_EQ((uintptr_t)bad, 0);
        }
        CHECK_EQ(ledger_used_bytes(1), 0);
}

/* Threads stand for processes: each has a view of its own of one mapping, and some leave and come. */
static void *join_and_leave(void *unused)
{
        struct region view;
        uintptr_t bad = 0;

        (void)unused;
        if (region_open(path, 2, &view, NULL) < 0)
                return (void *)1;
        for (unsigned round = 0; round < 50; round++) {
                if (region_join(&view) < 0)
                        return (void *)1;
                for (unsigned i = 0; i < 200; i++)
                        if (region_charge(&view, 0, REGION_OTHER, BLOCK, LIMIT_BLOCKS * BLOCK) ==
                            0) {
                                bad += region_used_bytes(&view, 0) > LIMIT_BLOCKS * BLOCK;
                                if (i % 2)
                                        region_refund(&view, 0, REGION_OTHER, BLOCK);
                        }
                bad += region_reap(&view) != 0; /* all are alive */
                region_leave(&view);
        }
        region_close(&view);
        return (void *)bad;
}

TEST(views_of_one_mapping)
{
        pthread_t threads[THREADS];
        void *bad;

        for (uintptr_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, join_and_leave, NULL), 0);
        for (unsigned i = 0; i < THREADS; i++) {
                assert_int_equal(pthread_join(threads[i], &bad), 0);
                CHECK_EQ((uintptr_t)bad, 0);
        }
        CHECK_EQ(ledger_used_bytes(0), 0);
}

int main(void)
{
        const struct CMUnitTest cases[] = {
                CASE(threads_share_the_region_and_measure_alone),
                CASE(physical_memory_of_threads),
                CASE(views_of_one_mapping),
        };

        return cmocka_run_group_tests(cases, open_once, remove_once);
}
