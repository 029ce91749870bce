/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of memory used by many threads at once; also run under the thread sanitizer. */
#include <pthread.h>

#include "memory_fixture.h"

enum { THREADS = 4, ROUNDS = 150 };

static CUcontext shared_context;

/* Allocates, writes, reads and frees in every way; returns the number of the first failure. */
static int round_of(unsigned thread, unsigned round)
{
        uint64_t sent = (uint64_t)thread << 32 | round, back = 0;
        CUdeviceptr plain, pooled, managed;
        CUstream own = CU_STREAM_PER_THREAD;
        size_t bytes = 1000 + 7919 * round % 2500000;

        if (cuMemAlloc_v2(&plain, bytes) || cuMemAllocAsync(&pooled, bytes, own) ||
            cuMemAllocManaged(&managed, bytes, CU_MEM_ATTACH_GLOBAL))
                return 1;
        if (cuMemcpyHtoDAsync_v2(pooled, &sent, 8, own) ||
            cuMemcpyDtoDAsync_v2(plain, pooled, 8, own) ||
            cuMemcpyDtoDAsync_v2(managed, plain, 8, own) || cuStreamSynchronize(own))
                return 2;
        if (*(uint64_t *)(uintptr_t)managed != sent)
                return 3;
        if (cuMemcpyDtoHAsync_v2(&back, plain, 8, own) || back != sent)
                return 4;
        if (cuMemFreeAsync(pooled, own) || cuMemFree_v2(managed) || cuMemFree_v2(plain))
                return 5;
        return 0;
}

static void *work(void *argument)
{
        unsigned thread = (unsigned)(uintptr_t)argument;
        intptr_t failed = cuCtxSetCurrent(shared_context) != CUDA_SUCCESS;

        for (unsigned round = 0; !failed && round < ROUNDS; round++)
                failed = round_of(thread, round);
        return (void *)failed;
}

SIM_TEST(threads_share_the_driver)
{
        pthread_t threads[THREADS];
        void *failed;

        one_gpu();
        GOOD(cuCtxGetCurrent(&shared_context));
        size_t before = free_bytes();
        for (unsigned i = 0; i < THREADS; i++)
                CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i), 0);
        for (unsigned i = 0; i < THREADS; i++) {
                CHECK_EQ(pthread_join(threads[i], &failed), 0);
                CHECK_EQ((intptr_t)failed, 0);
        }
        GOOD(cuCtxSynchronize());
        CHECK_EQ(free_bytes(), before);
}

int main(void)
{
        return RUN(CASE(threads_share_the_driver));
}
