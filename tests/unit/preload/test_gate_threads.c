/* SPDX-License-Identifier: Apache-2.0 */
/* The memory gate with many threads: admitted, settled, refused and compared at once. Also under TSan. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gate_memory.h"
#include "limits.h"
#include "presence.h"
#include "unit.h"

#define BLOCK ((uint64_t)LEDGER_GRANULE_BYTES)

enum { THREADS = 6, ROUNDS = 2000, LIMIT_BLOCKS = 10 };

static char path[64];

static int open_once(void **state)
{
        struct err e = { 0 };

        (void)state;
        snprintf(path, sizeof path, "/dev/shm/vgpu-test-gate-threads-%d", getpid());
        setenv("VGPU_MEMORY_LIMIT", "20Mi", 1);
        setenv("VGPU_REGION", path, 1);
        return limits_start(&e) < 0 || ledger_open(path, 1, &e) < 0;
}

static int remove_once(void **state)
{
        (void)state;
        return unlink(path);
}

/* What the driver would say this process holds is what the ledger says: nothing is to be corrected. */
static bool compare(unsigned device_index)
{
        if (!presence_try_lock())
                return false;
        bool has_given = ledger_compare(device_index, ledger_used_bytes(device_index), 0, true);
        presence_unlock();
        return has_given;
}

/* How often it was admitted, and one: a thread may find the whole limit with one that has no processor. NULL: there was
 * more free than there is. */
static void *work(void *number)
{
        uint64_t base = ((uint64_t)(uintptr_t)number + 1) << 40;
        uintptr_t admitted = 0;

        for (unsigned round = 0; round < ROUNDS; round++) {
                size_t bytes = round % 3 ? 4096 : 3 * BLOCK;
                CUdeviceptr address = base + round % 32 * 4 * BLOCK;
                struct charge charge;
                if (gate_memory_admit(0, 1, bytes, &charge) != CUDA_SUCCESS)
                        continue;
                bool has_failed = round % 7 == 0; /* the driver's own refusal */
                gate_memory_settle(&charge, has_failed ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS,
                                   address);
                if (!has_failed) { /* inside, as hooks of frees do it: else it is compared in its middle */
                        presence_enter();
                        ledger_release(address);
                        presence_leave();
                }
                admitted++;
                if (gate_memory_free(0, LIMIT_BLOCKS * BLOCK) > LIMIT_BLOCKS * BLOCK)
                        return NULL;
        }
        return (void *)(admitted + 1);
}

TEST(threads_are_admitted_and_refused_and_nothing_is_left)
{
        pthread_t threads[THREADS];
        uintptr_t sum = 0;
        void *admitted;

        gate_memory_compare_by(compare);
        for (uintptr_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
        for (unsigned i = 0; i < THREADS; i++) {
                assert_int_equal(pthread_join(threads[i], &admitted), 0);
                CHECK(admitted != NULL);
                sum += (uintptr_t)admitted - 1;
        }
        CHECK(sum > 0);
        CHECK_EQ(ledger_used_bytes(0), 0);
        CHECK_EQ(gate_memory_free(0, LIMIT_BLOCKS * BLOCK), LIMIT_BLOCKS * BLOCK);
}

int main(void)
{
        const struct CMUnitTest cases[] = {
                CASE(threads_are_admitted_and_refused_and_nothing_is_left),
        };

        return cmocka_run_group_tests(cases, open_once, remove_once);
}
