/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory that a program asked for by name, and hints about it. */
#include "event.h"
#include "virtual_case.h"

/* Managed memory by name: 30 MiB of it are the GPU's, 50 the host's. */
static CUdeviceptr begin_managed(void)
{
        CUdeviceptr there;

        begin("100m", "2");
        GOOD(cuMemAllocManaged(&there, 80 * MIB, CU_MEM_ATTACH_GLOBAL));
        CHECK_EQ(guest_held(), 80 * MIB);
        return there;
}

SIM_TEST(managed_memory_by_name_may_be_virtual_too)
{
        CUdeviceptr there = begin_managed(), more;
        char is_managed = 0;

        GOOD(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, there));
        CHECK_EQ(is_managed, 1);
        kernels_load();
        kernels_run(kernels.fill, there, 1, 80 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        CHECK(guest_device_bytes(0) <= 50 * MIB);
        CHECK(guest_device_bytes(0) >= 30 * MIB);
        CHECK_EQ(((unsigned *)(uintptr_t)there)[4 * 79], 80); /* the host reads it, too */
        FULL(cuMemAllocManaged(&more, 40 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemFree_v2(there));
        CHECK(guest_held() < 10 * MIB);
}

static const CUmemLocation gpu_0 = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };

/* After each: a kernel comes by, and what is the host's is still there. */
static void device_check(CUdeviceptr there)
{
        kernels_run(kernels.fill, there, 1, 80 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        CHECK(guest_device_bytes(0) <= 50 * MIB);
}

SIM_TEST(no_advice_brings_the_host_s_part_onto_the_gpu)
{
        static const CUmem_advise inviting[] = { CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                                 CU_MEM_ADVISE_UNSET_ACCESSED_BY,
                                                 CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
                                                 CU_MEM_ADVISE_SET_READ_MOSTLY };
        CUdeviceptr there = begin_managed();

        kernels_load();
        for (unsigned i = 0; i < 4; i++)
                GOOD(cuMemAdvise_v2(there, 80 * MIB, inviting[i], gpu_0));
        device_check(there);
        for (unsigned i = 0; i < 4; i++)
                GOOD(cuMemAdvise(there, 80 * MIB, inviting[i], 0));
        device_check(there);
}

SIM_TEST(no_prefetch_brings_the_host_s_part_onto_the_gpu)
{
        CUdeviceptr there = begin_managed(), parts[2] = { there, there + 40 * MIB };
        size_t sizes[2] = { 20 * MIB, 40 * MIB }, start = 0;
        CUmemLocation to = gpu_0;

        GOOD(cuMemPrefetchAsync(there, 80 * MIB, 0, NULL));
        GOOD(cuMemPrefetchAsync_v2(there, 80 * MIB, gpu_0, 0, NULL));
        GOOD(cuMemPrefetchAsync_ptsz(there, 80 * MIB, 0, NULL));
        GOOD(cuMemPrefetchAsync_v2_ptsz(there, 80 * MIB, gpu_0, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_device_bytes(0), 0);
        /* Of a batch, the part that is the GPU's comes. */
        GOOD(cuMemPrefetchBatchAsync(parts, sizes, 2, &to, &start, 1, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_device_bytes(0), 20 * MIB);
        GOOD(cuMemPrefetchAsync(there, 80 * MIB, CU_DEVICE_CPU, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_device_bytes(0), 0);
        GOOD(cuMemDiscardAndPrefetchBatchAsync(parts, sizes, 2, &to, &start, 1, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_device_bytes(0), 20 * MIB);
}

/* Two GPUs with limits of 100 and 40 MiB, and 80 MiB of managed memory on the first. */
static CUdeviceptr begin_two(void)
{
        CUdeviceptr there;

        setenv("VGPU_MEMORY_LIMIT_0", "100m", 1);
        setenv("VGPU_MEMORY_LIMIT_1", "40m", 1);
        guest_start(NULL);
        GOOD(cuMemAllocManaged(&there, 80 * MIB, CU_MEM_ATTACH_GLOBAL));
        return there;
}

/* What each GPU holds, whoever touches the memory, is what it is charged for. */
static void both_check(CUdeviceptr there, CUcontext second)
{
        CUcontext popped;

        GOOD(cuCtxPushCurrent_v2(second));
        kernels_run(kernels.fill, there, 7, 80 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        GOOD(cuCtxPopCurrent_v2(&popped));
        CHECK(guest_device_bytes(0) <= 100 * MIB);
        CHECK(guest_device_bytes(1) <= 4 * MIB); /* its code */
        CHECK_EQ(((unsigned *)(uintptr_t)there)[4 * 79], 86);
}

SIM_TEST(managed_memory_stays_with_the_gpu_that_is_charged)
{
        static const CUmem_advise inviting[] = { CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                                 CU_MEM_ADVISE_SET_READ_MOSTLY,
                                                 CU_MEM_ADVISE_UNSET_ACCESSED_BY,
                                                 CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION };
        CUmemLocation gpu_1 = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
        size_t size = 80 * MIB, start = 0;
        CUcontext first, second;
        CUdeviceptr more;

        guest_machine(2);
        CUdeviceptr there = begin_two();
        GOOD(cuCtxGetCurrent(&first));
        GOOD(cuCtxCreate_v2(&second, 0, 1));
        kernels_load();
        GOOD(cuCtxSetCurrent(first));
        both_check(there, second);
        for (unsigned i = 0; i < 4; i++)
                GOOD(cuMemAdvise(there, size, inviting[i], 1));
        both_check(there, second);
        for (unsigned i = 0; i < 4; i++)
                GOOD(cuMemAdvise_v2(there, size, inviting[i], gpu_1));
        both_check(there, second);
        GOOD(cuMemPrefetchAsync(there, size, 1, NULL));
        GOOD(cuMemPrefetchAsync_v2(there, size, gpu_1, 0, NULL));
        GOOD(cuMemPrefetchBatchAsync(&there, &size, 1, &gpu_1, &start, 1, 0, NULL));
        both_check(there, second);
        /* On its own GPU it is as it always was, and it is charged until it is freed. */
        GOOD(cuMemPrefetchAsync(there, size, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_device_bytes(0), 80 * MIB);
        FULL(cuMemAlloc_v2(&more, 22 * MIB));
        GOOD(cuMemFree_v2(there));
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(guest_device_bytes(0), 0);
        GOOD(cuMemAlloc_v2(&more, 100 * MIB));
}

/* Where the GPUs cannot reach each other, pages would move to whoever touches them: they stay on the
 * host, and both GPUs reach them there. */
SIM_TEST(managed_memory_of_gpus_that_are_no_peers_stays_on_the_host)
{
        CUcontext first, second;

        guest_machine(2);
        GOOD(fault_fail(sim_machine_open(), "cuDeviceCanAccessPeer", CUDA_ERROR_INVALID_DEVICE,
                        UINT32_MAX));
        CUdeviceptr there = begin_two();
        GOOD(cuCtxGetCurrent(&first));
        kernels_load();
        kernels_run(kernels.fill, there, 3, 80 * MIB, NULL);
        GOOD(cuMemPrefetchAsync(there, 80 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK(guest_device_bytes(0) <= 4 * MIB); /* its code */
        GOOD(cuCtxCreate_v2(&second, 0, 1));
        kernels_load();
        GOOD(cuCtxSetCurrent(first));
        both_check(there, second);
        CHECK(guest_device_bytes(0) <= 4 * MIB);
}

int main(void)
{
        return RUN(CASE(managed_memory_by_name_may_be_virtual_too),
                   CASE(no_advice_brings_the_host_s_part_onto_the_gpu),
                   CASE(no_prefetch_brings_the_host_s_part_onto_the_gpu),
                   CASE(managed_memory_stays_with_the_gpu_that_is_charged),
                   CASE(managed_memory_of_gpus_that_are_no_peers_stays_on_the_host));
}
