/* SPDX-License-Identifier: Apache-2.0 */
/* Every other way to device memory, each held to the limit and released exactly once; the GPU's own
 * figure is the judge. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"

static uint64_t held(void)
{
        size_t free_bytes, total_bytes;

        assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
        return total_bytes - free_bytes;
}

/* The charges are what the GPU shows, and not more than the limit. */
static void check_charges(uint64_t limit_bytes)
{
        CHECK_EQ(held(), guest_device_bytes(0));
        CHECK(guest_device_bytes(0) <= limit_bytes);
}

SIM_TEST(managed_memory)
{
        CUdeviceptr a, b;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemAllocManaged(&a, 60 * MIB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocManaged(&b, 60 * MIB, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(held(), 60 * MIB);
        CHECK_EQ(cuMemFree_v2(a), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
}

static CUmemAllocationProp on_device(int ordinal)
{
        CUmemAllocationProp properties;

        memset(&properties, 0, sizeof properties);
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = ordinal;
        return properties;
}

/* create → map → release → unmap: charged until the last of them. */
SIM_TEST(physical_memory_lives_by_handle_and_by_mapping)
{
        CUmemAllocationProp properties = on_device(0);
        CUmemGenericAllocationHandle handle, second;
        CUdeviceptr address;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemCreate(&handle, 60 * MIB, &properties, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemCreate(&second, 60 * MIB, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAddressReserve(&address, 60 * MIB, 0, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemMap(address, 60 * MIB, 0, handle, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        check_charges(100 * MIB);
        CHECK_EQ(held(), 60 * MIB);
        CHECK_EQ(cuMemCreate(&second, 60 * MIB, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemUnmap(address, 60 * MIB), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(cuMemCreate(&second, 60 * MIB, &properties, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemRelease(second), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
}

SIM_TEST(a_retained_handle_keeps_physical_memory)
{
        CUmemAllocationProp properties = on_device(0);
        CUmemGenericAllocationHandle handle, again;
        CUdeviceptr address;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemCreate(&handle, 20 * MIB, &properties, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemAddressReserve(&address, 20 * MIB, 0, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemMap(address, 20 * MIB, 0, handle, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)address), CUDA_SUCCESS);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        CHECK_EQ(cuMemUnmap(address, 20 * MIB), CUDA_SUCCESS);
        CHECK_EQ(held(), 20 * MIB);
        check_charges(100 * MIB);
        CHECK_EQ(cuMemRelease(again), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
        CHECK_EQ(guest_device_bytes(0), 0);
}

SIM_TEST(physical_memory_is_charged_to_the_device_it_is_on)
{
        CUmemAllocationProp properties = on_device(1);
        CUmemGenericAllocationHandle handle;

        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT_0", "100m", 1);
        setenv("VGPU_MEMORY_LIMIT_1", "40m", 1);
        guest_start(NULL);
        CHECK_EQ(cuMemCreate(&handle, 60 * MIB, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemCreate(&handle, 40 * MIB, &properties, 0), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
        CHECK_EQ(guest_device_bytes(1), 40 * MIB);
}

SIM_TEST(arrays_and_mipmaps)
{
        CUDA_ARRAY_DESCRIPTOR flat = {
                .Width = 1024, .Height = 1024, .NumChannels = 4, .Format = CU_AD_FORMAT_FLOAT
        };
        CUDA_ARRAY3D_DESCRIPTOR deep = { .Width = 256,
                                         .Height = 256,
                                         .Depth = 16,
                                         .NumChannels = 1,
                                         .Format = CU_AD_FORMAT_FLOAT };
        CUarray a, b, c;
        CUmipmappedArray m;

        guest_machine(1);
        guest_start("24m");
        CHECK_EQ(cuArrayCreate_v2(&a, &flat), CUDA_SUCCESS);
        check_charges(24 * MIB);
        CHECK(held() >= 16 * MIB);
        CHECK_EQ(cuArrayCreate_v2(&b, &flat), CUDA_ERROR_OUT_OF_MEMORY);
        check_charges(24 * MIB);
        CHECK_EQ(cuArray3DCreate_v2(&c, &deep), CUDA_SUCCESS);
        check_charges(24 * MIB);
        CHECK_EQ(cuArrayDestroy(c), CUDA_SUCCESS);
        CHECK_EQ(cuArrayDestroy(a), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
        CHECK_EQ(cuMipmappedArrayCreate(&m, &deep, 4), CUDA_SUCCESS);
        check_charges(24 * MIB);
        CHECK(held() > 0);
        CHECK_EQ(cuMipmappedArrayDestroy(m), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
}

/* Work that waits for the test. */
static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;

static void busy(void *unused)
{
        (void)unused;
        pthread_mutex_lock(&busy_lock);
        pthread_mutex_unlock(&busy_lock);
}

SIM_TEST(stream_ordered_memory)
{
        CUdeviceptr a, b;
        CUstream stream;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocAsync(&a, 60 * MIB, stream), CUDA_SUCCESS);
        check_charges(100 * MIB);
        CHECK(held() >= 60 * MIB);
        CHECK_EQ(cuMemAllocAsync(&b, 60 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
        check_charges(100 * MIB);
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        check_charges(100 * MIB);
        /* Either kind of free takes either kind of pointer. */
        CHECK_EQ(cuMemAllocAsync(&a, 10 * MIB, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemFree_v2(a), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&a, 10 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        check_charges(100 * MIB);
}

/* What a pool keeps after a free is still held; trimmed, it can be had again. */
SIM_TEST(a_pool_that_keeps_memory_holds_it)
{
        CUmemPoolProps properties;
        cuuint64_t keep = UINT64_MAX;
        CUmemoryPool pool;
        CUdeviceptr a, b;
        CUstream stream;

        memset(&properties, 0, sizeof properties);
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
                 CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK(held() >= 60 * MIB);
        check_charges(100 * MIB);
        CHECK_EQ(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
        CHECK_EQ(cuMemAlloc_v2(&b, 60 * MIB), CUDA_SUCCESS);
        check_charges(100 * MIB);
        CHECK_EQ(cuMemFree_v2(b), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(held(), guest_device_bytes(0));
}

/* As when a GPU is full: a pool goes without what it keeps before anybody is refused. */
SIM_TEST(what_a_pool_keeps_can_be_had_again)
{
        cuuint64_t keep = UINT64_MAX;
        CUmemoryPool pool;
        CUdeviceptr a, b;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
                 CUDA_SUCCESS);
        for (unsigned i = 0; i < 3; i++) {
                CHECK_EQ(cuMemAllocAsync(&a, 60 * MIB, NULL), CUDA_SUCCESS);
                check_charges(100 * MIB);
                CHECK_EQ(cuMemAlloc_v2(&b, 60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
                CHECK_EQ(cuMemFreeAsync(a, NULL), CUDA_SUCCESS);
                CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
                CHECK(held() >= 60 * MIB);
        }
        CHECK_EQ(cuMemAlloc_v2(&b, 60 * MIB), CUDA_SUCCESS);
        check_charges(100 * MIB);
}

/* A module whose variable alone is as large as the limit. */
SIM_TEST(modules)
{
        static const char small[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                                    ".global .align 4 .b8 table[4194304];\n"
                                    ".visible .entry k() { ret; }\n";
        static const char large[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                                    ".global .align 4 .b8 table[67108864];\n"
                                    ".visible .entry k() { ret; }\n";
        CUmodule module;

        guest_machine(1);
        guest_start("32m");
        CHECK_EQ(cuModuleLoadData(&module, small), CUDA_SUCCESS);
        check_charges(32 * MIB);
        CHECK(held() >= 4 * MIB);
        CHECK_EQ(cuModuleUnload(module), CUDA_SUCCESS);
        CHECK_EQ(held(), 0);
        CHECK_EQ(cuModuleLoadData(&module, large), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(held(), 0);
        CHECK_EQ(cuModuleLoadDataEx(&module, small, 0, NULL, NULL), CUDA_SUCCESS);
        check_charges(32 * MIB);
}

/* Two arrays in one block of the driver's: the first one's end gives nothing back. */
SIM_TEST(an_array_leaves_a_block_to_the_other_in_it)
{
        const CUDA_ARRAY_DESCRIPTOR shape = {
                .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
        };
        CUarray first, second;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuArrayCreate_v2(&first, &shape), CUDA_SUCCESS);
        CHECK_EQ(cuArrayCreate_v2(&second, &shape), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 2 * MIB);
        CHECK_EQ(cuArrayDestroy(first), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 2 * MIB);
        guest_check_charges(100 * MIB);
        CHECK_EQ(cuArrayDestroy(second), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
}

/* A stream that is busy, and memory that it has freed: the driver gives it out again at once, and so the
 * limit has nothing against it. */
static void freed_again(CUresult (*alloc)(CUdeviceptr *, size_t, CUstream))
{
        CUdeviceptr first, second, third, more;
        CUstream stream;

        CHECK_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        CHECK_EQ(alloc(&first, 60 * MIB, stream), CUDA_SUCCESS);
        CHECK_EQ(alloc(&second, 30 * MIB, stream), CUDA_SUCCESS);
        pthread_mutex_lock(&busy_lock);
        CHECK_EQ(cuLaunchHostFunc(stream, busy, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(first, stream), CUDA_SUCCESS);
        CHECK_EQ(alloc(&third, 60 * MIB, stream), CUDA_SUCCESS);
        CHECK_EQ(third, first);
        CHECK_EQ(guest_device_bytes(0), 90 * MIB);
        CHECK_EQ(cuMemFreeAsync(third, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(second, stream), CUDA_SUCCESS);
        CHECK_EQ(alloc(&first, 60 * MIB, stream), CUDA_SUCCESS);
        CHECK_EQ(alloc(&second, 30 * MIB, stream), CUDA_SUCCESS);
        /* There is no more: it would be a byte too much. */
        CHECK_EQ(alloc(&more, 12 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFreeAsync(first, stream), CUDA_SUCCESS);
        /* In another stream the driver could not use it yet. */
        CHECK_EQ(alloc(&more, 60 * MIB, CU_STREAM_PER_THREAD), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(alloc(&more, 62 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 90 * MIB);
        CHECK_EQ(held(), 90 * MIB);
        pthread_mutex_unlock(&busy_lock);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
}

static CUmemoryPool named_pool;

static CUresult alloc_from_named(CUdeviceptr *address, size_t bytes, CUstream stream)
{
        return cuMemAllocFromPoolAsync(address, bytes, named_pool, stream);
}

SIM_TEST(what_a_stream_has_freed_it_may_have_again_at_the_limit)
{
        guest_machine(1);
        guest_start("100m");
        freed_again(cuMemAllocAsync);
}

SIM_TEST(and_from_a_pool_of_its_own)
{
        CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemPoolCreate(&named_pool, &properties), CUDA_SUCCESS);
        freed_again(alloc_from_named);
}

int main(void)
{
        return RUN(CASE(an_array_leaves_a_block_to_the_other_in_it), CASE(managed_memory),
                   CASE(physical_memory_lives_by_handle_and_by_mapping),
                   CASE(a_retained_handle_keeps_physical_memory),
                   CASE(physical_memory_is_charged_to_the_device_it_is_on),
                   CASE(arrays_and_mipmaps), CASE(stream_ordered_memory),
                   CASE(a_pool_that_keeps_memory_holds_it),
                   CASE(what_a_pool_keeps_can_be_had_again), CASE(modules),
                   CASE(what_a_stream_has_freed_it_may_have_again_at_the_limit),
                   CASE(and_from_a_pool_of_its_own));
}
