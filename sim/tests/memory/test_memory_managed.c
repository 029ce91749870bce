/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of managed memory: one address for all, residency, advice, prefetch, eviction. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory_fixture.h"

static int range_attribute(CUdeviceptr at, size_t count, CUmem_range_attribute which)
{
        int value = 99;

        GOOD(cuMemRangeGetAttribute(&value, sizeof value, which, at, count));
        return value;
}

SIM_TEST(the_host_and_the_gpu_see_the_same_bytes)
{
        CUdeviceptr a, b;
        int back[4];

        one_gpu();
        GOOD(cuMemAllocManaged(&a, 64 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemAlloc_v2(&b, 4096));
        int *host = (int *)(uintptr_t)a;
        for (int i = 0; i < 4; i++)
                host[i] = 10 + i;
        GOOD(cuMemcpyDtoD_v2(b, a, 16));
        GOOD(cuMemcpyDtoH_v2(back, b, 16));
        CHECK_EQ(back[3], 13);
        GOOD(cuMemsetD32_v2(a + 60 * MIB, 77, 100));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(host[15 * MIB], 77);
        CHECK_EQ(host[15 * MIB + 99], 77);
        CHECK_EQ(host[15 * MIB + 100], 0);
        GOOD(cuMemFree_v2(a));
        CHECK_EQ(cuMemAllocManaged(&a, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemAllocManaged(&a, 8, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(zeroing_managed_memory_costs_nothing)
{
        struct machine *machine;
        CUdeviceptr a;

        machine_small(1, 1024 * MIB, 16 * MIB);
        GOOD(cuInit(0));
        context_on(0);
        machine = sim_machine_open();
        GOOD(cuMemAllocManaged(&a, 512 * MIB, CU_MEM_ATTACH_GLOBAL));
        char *host = (char *)(uintptr_t)a;
        host[100 * MIB] = 5;
        host[300 * MIB] = 6;
        GOOD(cuMemsetD8_v2(a, 0, 512 * MIB));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(host[100 * MIB], 0);
        CHECK_EQ(host[300 * MIB], 0);
        CHECK_EQ(atomic_load(&machine->file->header.counters[COUNTER_CONTENT_DROPPED_BYTES]), 0);
}

SIM_TEST(prefetch_brings_pages_onto_the_gpu_and_back)
{
        CUdeviceptr a;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemAllocManaged(&a, 10 * MIB, CU_MEM_ATTACH_GLOBAL));
        CHECK_EQ(before, free_bytes());
        CHECK_EQ(range_attribute(a, 10 * MIB, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION),
                 CU_DEVICE_INVALID);
        GOOD(cuMemPrefetchAsync(a, 10 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(before - free_bytes(), 10 * MIB);
        CHECK_EQ(range_attribute(a, 10 * MIB, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
        CHECK_EQ(range_attribute(a, 10 * MIB, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE),
                 CU_MEM_LOCATION_TYPE_DEVICE);
        GOOD(cuMemPrefetchAsync_v2(a, 4 * MIB, (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST },
                                   0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(before - free_bytes(), 6 * MIB);
        CHECK_EQ(range_attribute(a, 10 * MIB, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION),
                 CU_DEVICE_INVALID);
        CHECK_EQ(range_attribute(a, 4 * MIB, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION),
                 CU_DEVICE_CPU);
        GOOD(cuMemFree_v2(a));
        CHECK_EQ(before, free_bytes());
}

SIM_TEST(prefetch_checks_its_range_and_location)
{
        CUdeviceptr a, plain;

        one_gpu();
        GOOD(cuMemAllocManaged(&a, 4096, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemAlloc_v2(&plain, 4096));
        CHECK_EQ(cuMemPrefetchAsync(a, 4097, 0, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemPrefetchAsync(a, 0, 0, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemPrefetchAsync(a, 4096, 5, NULL), CUDA_ERROR_INVALID_DEVICE);
        CHECK_EQ(cuMemPrefetchAsync(plain, 4096, 0, NULL), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(advice_is_kept_and_told)
{
        CUdeviceptr a;
        int users[3];

        one_gpu();
        GOOD(cuMemAllocManaged(&a, 8 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemAdvise(a, 8 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
        GOOD(cuMemAdvise(a, 8 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
        GOOD(cuMemAdvise(a, 8 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
        CHECK_EQ(range_attribute(a, 8 * MIB, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
        CHECK_EQ(range_attribute(a, 8 * MIB, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION),
                 CU_DEVICE_CPU);
        GOOD(cuMemRangeGetAttribute(users, sizeof users, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, a,
                                    8 * MIB));
        CHECK_EQ(users[0], 0);
        CHECK_EQ(users[1], CU_DEVICE_INVALID);
        GOOD(cuMemAdvise(a, 2 * MIB, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
        CHECK_EQ(range_attribute(a, 8 * MIB, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
        CHECK_EQ(range_attribute(a + 2 * MIB, 6 * MIB, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
        CHECK_EQ(cuMemAdvise(a, 8 * MIB, (CUmem_advise)17, 0), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemAdvise(a, 8 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, 3),
                 CUDA_ERROR_INVALID_DEVICE);
}

SIM_TEST(more_than_the_gpu_has_is_fine)
{
        CUdeviceptr a, b;

        one_gpu();
        GOOD(cuMemAllocManaged(&a, 3000 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemPrefetchAsync(a, 3000 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(free_bytes(), 0);
        /* Plain memory pushes managed memory out. */
        GOOD(cuMemAlloc_v2(&b, 600 * MIB));
        GOOD(cuMemFree_v2(b));
        GOOD(cuMemFree_v2(a));
        CHECK_EQ(free_bytes(), 1024 * MIB);
}

static int neighbour(void)
{
        CUcontext context;
        CUdeviceptr a;
        size_t free_now, total;

        if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
                return 1;
        if (cuMemAlloc_v2(&a, 700 * MIB))
                return 2;
        return cuMemGetInfo_v2(&free_now, &total) ? 3 : 0;
}

SIM_TEST(another_process_evicts_what_was_used_least)
{
        CUdeviceptr old, young;
        int status = 0, go[2];
        char byte;

        machine_small(1, 1024 * MIB, 0);
        CHECK_EQ(pipe(go), 0);
        pid_t child = fork();
        if (child == 0)
                _exit(read(go[0], &byte, 1) == 1 ? neighbour() : 9);
        GOOD(cuInit(0));
        context_on(0);
        GOOD(cuMemAllocManaged(&old, 400 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemAllocManaged(&young, 200 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemPrefetchAsync(old, 400 * MIB, 0, NULL));
        GOOD(cuMemPrefetchAsync(young, 200 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(free_bytes(), 424 * MIB);
        CHECK_EQ(write(go[1], "g", 1), 1);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        /* 276 MiB of ours had to go: bringing the young one in again moves nothing. */
        CHECK_EQ(free_bytes(), 1024 * MIB - 324 * MIB);
        GOOD(cuMemPrefetchAsync(young, 200 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(free_bytes(), 1024 * MIB - 324 * MIB);
        GOOD(cuMemPrefetchAsync(old, 400 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(free_bytes(), 424 * MIB);
        GOOD(cuMemFree_v2(old));
        GOOD(cuMemFree_v2(young));
        CHECK_EQ(free_bytes(), 1024 * MIB);
}

SIM_TEST(a_limit_of_file_sizes_is_none_of_managed_memory)
{
        struct rlimit limit = { 1 << 20, 1 << 20 };
        CUdeviceptr a;

        one_gpu();
        CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        GOOD(cuMemAllocManaged(&a, 8 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemPrefetchAsync(a, 8 * MIB, 0, NULL));
        GOOD(cuMemsetD32_v2(a, 5, 8 * MIB / 4));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(((int *)(uintptr_t)a)[2 * MIB - 1], 5);
        GOOD(cuMemFree_v2(a));
}

int main(void)
{
        return RUN(CASE(the_host_and_the_gpu_see_the_same_bytes),
                   CASE(zeroing_managed_memory_costs_nothing),
                   CASE(prefetch_brings_pages_onto_the_gpu_and_back),
                   CASE(prefetch_checks_its_range_and_location), CASE(advice_is_kept_and_told),
                   CASE(more_than_the_gpu_has_is_fine),
                   CASE(another_process_evicts_what_was_used_least),
                   CASE(a_limit_of_file_sizes_is_none_of_managed_memory));
}
