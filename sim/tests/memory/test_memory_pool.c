/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of pools: stream-ordered allocation, what a pool keeps, what it gives back. */
#include "memory_fixture.h"

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
        uint64_t value = 0;

        GOOD(cuMemPoolGetAttribute(pool, which, &value));
        return value;
}

static CUmemoryPool default_pool(void)
{
        CUmemoryPool pool;

        GOOD(cuDeviceGetDefaultMemPool(&pool, 0));
        return pool;
}

SIM_TEST(a_pool_gives_back_at_the_next_synchronisation)
{
        CUdeviceptr a;
        CUstream stream;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuStreamCreate(&stream, 0));
        GOOD(cuMemAllocAsync(&a, 10 * MIB, stream));
        CHECK_EQ(before - free_bytes(), 10 * MIB);
        CHECK_EQ(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 10 * MIB);
        GOOD(cuMemFreeAsync(a, stream));
        CHECK_EQ(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
        CHECK_EQ(before - free_bytes(), 10 * MIB);
        GOOD(cuStreamSynchronize(stream));
        CHECK_EQ(attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
        CHECK_EQ(attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 10 * MIB);
        CHECK_EQ(before, free_bytes());
}

SIM_TEST(the_threshold_keeps_memory)
{
        uint64_t keep = 64 * MIB;
        CUdeviceptr a;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemPoolSetAttribute(default_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
        GOOD(cuMemAllocAsync(&a, 32 * MIB, NULL));
        GOOD(cuMemFreeAsync(a, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(before - free_bytes(), 32 * MIB);
        CHECK_EQ(attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32 * MIB);
        GOOD(cuMemAllocAsync(&a, 20 * MIB, NULL));
        CHECK_EQ(before - free_bytes(), 32 * MIB);
        GOOD(cuMemFreeAsync(a, NULL));
        GOOD(cuCtxSynchronize());
        GOOD(cuMemPoolTrimTo(default_pool(), 0));
        CHECK_EQ(before, free_bytes());
}

/* On hardware the stream's order makes the memory available at once. */
SIM_TEST(the_same_stream_reuses_what_it_freed)
{
        CUdeviceptr a, b;

        one_gpu();
        for (int i = 0; i < 100; i++) {
                GOOD(cuMemAllocAsync(&a, 700 * MIB, NULL));
                GOOD(cuMemsetD8Async(a, (unsigned char)i, 700 * MIB, NULL));
                GOOD(cuMemFreeAsync(a, NULL));
        }
        GOOD(cuMemAllocAsync(&a, 600 * MIB, NULL));
        CHECK_EQ(cuMemAllocAsync(&b, 600 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        GOOD(cuMemFreeAsync(a, NULL));
}

SIM_TEST(another_stream_waits_for_memory_that_is_still_in_use)
{
        CUdeviceptr a, b;
        CUstream one, two;
        unsigned char back = 0;

        one_gpu();
        GOOD(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
        GOOD(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
        GOOD(cuMemAllocAsync(&a, 800 * MIB, one));
        GOOD(cuMemsetD8Async(a, 1, 800 * MIB, one));
        GOOD(cuMemFreeAsync(a, one));
        GOOD(cuMemAllocAsync(&b, 800 * MIB, two));
        GOOD(cuMemsetD8Async(b, 2, 800 * MIB, two));
        GOOD(cuMemcpyDtoHAsync_v2(&back, b + 5, 1, two));
        CHECK_EQ(back, 2);
        GOOD(cuMemFreeAsync(b, two));
}

SIM_TEST(pool_memory_and_plain_memory_may_be_freed_either_way)
{
        CUdeviceptr a, b;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemAllocAsync(&a, 5 * MIB, NULL));
        GOOD(cuMemAlloc_v2(&b, 5 * MIB));
        GOOD(cuMemFree_v2(a));
        GOOD(cuMemFreeAsync(b, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(before, free_bytes());
        CHECK_EQ(cuMemFreeAsync(a, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemFreeAsync(b, NULL), CUDA_ERROR_INVALID_VALUE);
}

static CUmemPoolProps props_on(int device)
{
        return (CUmemPoolProps){
                .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
        };
}

SIM_TEST(a_destroyed_pool_lives_until_its_last_allocation)
{
        CUmemPoolProps props = props_on(0);
        CUmemoryPool pool;
        CUdeviceptr a;
        char back = 0, sent = 9;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemPoolCreate(&pool, &props));
        GOOD(cuMemAllocFromPoolAsync(&a, 4 * MIB, pool, NULL));
        GOOD(cuMemPoolDestroy(pool));
        GOOD(cuMemcpyHtoD_v2(a, &sent, 1));
        GOOD(cuMemcpyDtoH_v2(&back, a, 1));
        CHECK_EQ(back, 9);
        GOOD(cuMemFreeAsync(a, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(before, free_bytes());
        CHECK_EQ(cuMemPoolDestroy(default_pool()), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(the_current_pool_can_be_chosen)
{
        CUmemPoolProps props = props_on(0);
        CUmemoryPool pool, found;
        CUdeviceptr a;

        one_gpu();
        GOOD(cuMemPoolCreate(&pool, &props));
        GOOD(cuDeviceSetMemPool(0, pool));
        GOOD(cuDeviceGetMemPool(&found, 0));
        CHECK(found == pool);
        GOOD(cuMemAllocAsync(&a, 1000, NULL));
        CHECK_EQ(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024);
        GOOD(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
        CHECK(found == pool);
        GOOD(cuMemFreeAsync(a, NULL));
        GOOD(cuMemPoolDestroy(pool));
        GOOD(cuDeviceGetMemPool(&found, 0));
        CHECK(found == default_pool());
}

SIM_TEST(access_is_per_device)
{
        CUmemLocation there = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
        CUmemAccessDesc open = { .location = there, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        CUmemAccessDesc own = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                                .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE };
        CUmemAccess_flags flags;

        machine_small(2, 256 * MIB, 0);
        GOOD(cuInit(0));
        context_on(0);
        GOOD(cuMemPoolGetAccess(&flags, default_pool(), &there));
        CHECK_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        GOOD(cuMemPoolSetAccess(default_pool(), &open, 1));
        GOOD(cuMemPoolGetAccess(&flags, default_pool(), &there));
        CHECK_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        CHECK_EQ(cuMemPoolSetAccess(default_pool(), &own, 1), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(what_pools_keep_makes_space_for_others)
{
        uint64_t keep = UINT64_MAX;
        CUdeviceptr a;

        one_gpu();
        GOOD(cuMemPoolSetAttribute(default_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
        GOOD(cuMemAllocAsync(&a, 900 * MIB, NULL));
        GOOD(cuMemFreeAsync(a, NULL));
        GOOD(cuCtxSynchronize());
        CHECK(free_bytes() < 200 * MIB);
        GOOD(cuMemAlloc_v2(&a, 900 * MIB));
        GOOD(cuMemFree_v2(a));
}

int main(void)
{
        return RUN(CASE(a_pool_gives_back_at_the_next_synchronisation),
                   CASE(the_threshold_keeps_memory), CASE(the_same_stream_reuses_what_it_freed),
                   CASE(another_stream_waits_for_memory_that_is_still_in_use),
                   CASE(pool_memory_and_plain_memory_may_be_freed_either_way),
                   CASE(a_destroyed_pool_lives_until_its_last_allocation),
                   CASE(the_current_pool_can_be_chosen), CASE(access_is_per_device),
                   CASE(what_pools_keep_makes_space_for_others));
}
