/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory: managed memory where the GPU's part of a share is full, and the bounds of both. The
 * GPU's own figure is the judge. */
#include <sys/wait.h>
#include <unistd.h>

#include "nvml_prototypes.h"
#include "virtual_case.h"

SIM_TEST(a_ratio_bounds_the_gpu_and_the_limit_the_whole)
{
        CUdeviceptr buffers[5], more;
        size_t free_bytes, total_bytes;

        begin("200m", "2");
        for (unsigned i = 0; i < 5; i++)
                GOOD(cuMemAlloc_v2(&buffers[i], 40 * MIB));
        GOOD(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        CHECK_EQ(total_bytes, 200 * MIB);
        CHECK_EQ(free_bytes, 0);
        CHECK_EQ(guest_device_bytes(0), 80 * MIB);
        FULL(cuMemAlloc_v2(&more, 1));
        for (unsigned i = 0; i < 5; i++)
                GOOD(cuMemFree_v2(buffers[i]));
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(guest_device_bytes(0), 0);
}

SIM_TEST(one_allocation_may_be_all_there_is)
{
        CUdeviceptr all, more;

        begin("200m", "2");
        FULL(cuMemAlloc_v2(&all, 202 * MIB));
        GOOD(cuMemAlloc_v2(&all, 200 * MIB));
        CHECK_EQ(guest_held(), 200 * MIB);
        FULL(cuMemAlloc_v2(&more, 1));
        GOOD(cuMemFree_v2(all));
        CHECK_EQ(guest_held(), 0);
        GOOD(cuMemAlloc_v2(&all, DEVICE));
        CHECK_EQ(guest_device_bytes(0), DEVICE);
}

/* Taking all memory first must not keep a program from loading what uses it. */
SIM_TEST(kernels_can_be_loaded_when_buffers_have_taken_what_they_can)
{
        CUdeviceptr buffers[7], small;

        begin("32m", "2");
        for (unsigned i = 0; i < 7; i++)
                GOOD(cuMemAlloc_v2(&buffers[i], 4 * MIB));
        CHECK(guest_device_bytes(0) < 16 * MIB);
        kernels_load();
        GOOD(cuMemAlloc_v2(&small, 4));
        CHECK(guest_device_bytes(0) <= 16 * MIB);
}

/* They lie together on the GPU while it has free memory, and go to the host one by one. */
SIM_TEST(small_allocations_stay_on_the_gpu_while_it_has_free_memory)
{
        CUdeviceptr small, gpu = begin_full();

        for (unsigned i = 0; i < 6; i++)
                GOOD(cuMemAlloc_v2(&small, MIB));
        CHECK_EQ(guest_device_bytes(0), DEVICE + 6 * MIB);
        CHECK_EQ(guest_held(), DEVICE + 6 * MIB);
        GOOD(cuMemAlloc_v2(&small, 2 * MIB));
        GOOD(cuMemAlloc_v2(&small, 1000));
        CHECK_EQ(guest_device_bytes(0), DEVICE + 8 * MIB);
        CHECK_EQ(guest_held(), DEVICE + 8 * MIB + (64 << 10));
        GOOD(cuMemFree_v2(small));
        GOOD(cuMemFree_v2(gpu));
        CHECK_EQ(guest_held(), 8 * MIB);
}

SIM_TEST(oversold_goes_on_beyond_the_limit_up_to_the_host_s_part)
{
        CUdeviceptr address, more;
        size_t total_bytes = 0, free_bytes;

        begin_oversold("100m");
        GOOD(cuMemAlloc_v2(&address, DEVICE));
        GOOD(cuMemAlloc_v2(&more, 1024 * MIB)); /* the GPU's size again */
        GOOD(cuMemAlloc_v2(&address, 8 * MIB)); /* the remainder of the GPU */
        FULL(cuMemAlloc_v2(&address, 1));
        GOOD(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        CHECK_EQ(total_bytes, 100 * MIB);
        CHECK_EQ(free_bytes, 0);
        CHECK_EQ(guest_device_bytes(0), DEVICE);
        GOOD(cuMemFree_v2(more));
        CHECK_EQ(guest_held(), 100 * MIB);
}

/* Without a limit the share is the whole GPU, and beyond. */
SIM_TEST(a_whole_gpu_may_be_oversold)
{
        CUdeviceptr address, more;
        size_t free_bytes, total_bytes;

        guest_machine(1);
        setenv("CUDA_MEM_OVERSOLD", "true", 1);
        setenv("VGPU_OVERSOLD_HOST_MEMORY", "500m", 1);
        guest_start(NULL);
        GOOD(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        CHECK_EQ(total_bytes, 1024 * MIB);
        GOOD(cuMemAlloc_v2(&address, 900 * MIB));
        CHECK_EQ(guest_device_bytes(0), 900 * MIB);
        FULL(cuMemAlloc_v2(&more, 626 * MIB));
        GOOD(cuMemAlloc_v2(&more, 600 * MIB));
        CHECK_EQ(guest_device_bytes(0), 900 * MIB);
        FULL(cuMemAlloc_v2(&address, 26 * MIB));
}

SIM_TEST(a_whole_gpu_may_be_scaled)
{
        CUdeviceptr address;
        size_t free_bytes, total_bytes;

        guest_machine(1);
        setenv("CUDA_MEM_RATIO_0", "1.5", 1);
        guest_start(NULL);
        GOOD(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        CHECK_EQ(total_bytes, 1536 * MIB);
        FULL(cuMemAlloc_v2(&address, 1538 * MIB));
        GOOD(cuMemAlloc_v2(&address, 1536 * MIB));
}

static nvmlMemory_t nvml_memory(void)
{
        nvmlMemory_t memory;
        nvmlDevice_t device;

        CHECK_EQ(nvmlInit_v2(), NVML_SUCCESS);
        CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
        CHECK_EQ(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
        return memory;
}

SIM_TEST(nvml_shows_the_limit_and_what_is_held_on_gpu_and_host)
{
        CUdeviceptr there;

        begin_full();
        GOOD(cuMemAlloc_v2(&there, 80 * MIB));
        nvmlMemory_t memory = nvml_memory();
        CHECK_EQ(memory.total, 200 * MIB);
        CHECK_EQ(memory.used, DEVICE + 80 * MIB);
        CHECK_EQ(memory.free, 200 * MIB - memory.used);
}

/* One that only queries has no context, and never calls cuInit. */
SIM_TEST(nvml_alone_shows_a_scaled_gpu)
{
        guest_machine(1);
        setenv("CUDA_MEM_RATIO", "2", 1);
        nvmlMemory_t memory = nvml_memory();
        CHECK(memory.total >= 2048 * MIB);
        CHECK_EQ(memory.used, 0);
}

SIM_TEST(a_gpu_that_others_have_filled_is_as_good_as_a_full_share)
{
        CUdeviceptr address;

        begin_oversold("800m");
        guest_device_taken(0, 600 * MIB);
        GOOD(cuMemAlloc_v2(&address, 500 * MIB));
        CHECK_EQ(guest_device_bytes(0), 600 * MIB);
        CHECK_EQ(guest_held(), 500 * MIB);
        GOOD(cuMemFree_v2(address));
        CHECK_EQ(guest_held(), 0);
}

SIM_TEST(without_virtual_memory_the_limit_is_the_limit)
{
        CUdeviceptr address;

        begin("200m", "1");
        GOOD(cuMemAlloc_v2(&address, 200 * MIB));
        FULL(cuMemAlloc_v2(&address, 1));
}

SIM_TEST(it_goes_with_its_context)
{
        CUcontext context;
        CUdeviceptr there;

        begin_full();
        GOOD(cuCtxCreate_v2(&context, 0, 0));
        GOOD(cuMemAlloc_v2(&there, 80 * MIB));
        CHECK_EQ(guest_held(), DEVICE + 80 * MIB);
        GOOD(cuCtxDestroy_v2(context));
        CHECK_EQ(guest_held(), DEVICE);
        GOOD(cuMemAlloc_v2(&there, 100 * MIB));
}

SIM_TEST(what_a_stream_has_freed_goes_with_its_context)
{
        CUcontext context;
        CUdeviceptr there;

        begin_full();
        GOOD(cuCtxCreate_v2(&context, 0, 0));
        GOOD(cuMemAlloc_v2(&there, 80 * MIB));
        GOOD(cuMemFreeAsync(there, NULL));
        GOOD(cuCtxDestroy_v2(context));
        CHECK_EQ(guest_held(), DEVICE);
        GOOD(cuMemAlloc_v2(&there, 100 * MIB));
}

static CUresult allocate(bool is_managed, uint64_t bytes)
{
        CUdeviceptr there;

        return is_managed ? cuMemAllocManaged(&there, bytes, CU_MEM_ATTACH_GLOBAL)
                          : cuMemAlloc_v2(&there, bytes);
}

/* Is refused, which looks for dead processes, and is one. */
static void hold_and_die(bool is_managed)
{
        guest_start(NULL);
        GOOD(allocate(is_managed, 180 * MIB));
        FULL(allocate(is_managed, 200 * MIB));
        raise(SIGKILL);
}

/* However shortly after its death, and whoever looked for dead processes a moment before. */
SIM_TEST(it_goes_with_its_process)
{
        enum { ROUNDS = 20 };
        int begin[2], status;
        char byte;

        guest_machine(1);
        setenv("VGPU_MEMORY_RATIO", "2", 1);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        for (unsigned round = 0; round < ROUNDS; round++) {
                CHECK_EQ(pipe(begin), 0);
                pid_t heir = fork();
                if (heir == 0) {
                        guest_start(NULL);
                        CHECK_EQ(read(begin[0], &byte, 1), 1);
                        GOOD(allocate(round % 2, 200 * MIB));
                        _exit(0);
                }
                pid_t pid = fork();
                if (pid == 0)
                        hold_and_die(round / 2 % 2);
                waitpid(pid, NULL, 0);
                CHECK_EQ(write(begin[1], "", 1), 1);
                waitpid(heir, &status, 0);
                CHECK_EQ(status, 0);
                close(begin[0]);
                close(begin[1]);
        }
}

/* What names its pool, its handle or its graph is device memory, or is refused. */
SIM_TEST(pools_handles_and_graphs_stay_on_the_gpu)
{
        CUmemAllocationProp on_device = { .type = CU_MEM_ALLOCATION_TYPE_PINNED };
        CUmemPoolProps properties;
        CUmemGenericAllocationHandle handle;
        CUdeviceptr address;
        CUmemoryPool pool;

        begin_full();
        on_device.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        memset(&properties, 0, sizeof properties);
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        GOOD(cuMemPoolCreate(&pool, &properties));
        FULL(cuMemCreate(&handle, 20 * MIB, &on_device, 0));
        FULL(cuMemAllocFromPoolAsync(&address, 20 * MIB, pool, NULL));
        GOOD(cuDeviceSetMemPool(0, pool));
        FULL(cuMemAllocAsync(&address, 20 * MIB, NULL));
        CHECK_EQ(guest_device_bytes(0), DEVICE);
}

/* It belongs to the device it was asked for on, and comes onto no other. */
SIM_TEST(two_devices_have_a_part_each)
{
        CUmemLocation gpu_1 = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
        CUdeviceptr there, named;
        CUcontext first, second;

        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        setenv("VGPU_MEMORY_RATIO_1", "2", 1);
        guest_start(NULL);
        GOOD(cuCtxGetCurrent(&first));
        FULL(cuMemAlloc_v2(&there, 102 * MIB));
        GOOD(cuCtxCreate_v2(&second, 0, 1));
        GOOD(cuMemAlloc_v2(&there, 50 * MIB)); /* all of it on the host */
        GOOD(cuMemAllocManaged(&named, 20 * MIB, CU_MEM_ATTACH_GLOBAL));
        CHECK_EQ(guest_held(), 70 * MIB);
        GOOD(cuCtxSetCurrent(first));
        CHECK_EQ(guest_held(), 0);
        kernels_load();
        uint64_t code = guest_device_bytes(0);
        kernels_run(kernels.fill, there, 1, 50 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_device_bytes(0), code);
        CHECK_EQ(guest_device_bytes(1), 0);
        CHECK_EQ(cuMemPrefetchAsync_v2(there, 50 * MIB, gpu_1, 0, NULL), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemFree_v2(there));
        GOOD(cuCtxSetCurrent(second));
        CHECK_EQ(guest_held(), 20 * MIB);
}

SIM_TEST(a_forked_child_holds_no_virtual_memory)
{
        CUdeviceptr there;
        int status;

        begin_full();
        GOOD(cuMemAlloc_v2(&there, 50 * MIB));
        pid_t pid = fork();
        if (pid == 0)
                _exit(cuMemFree_v2(there) == CUDA_SUCCESS);
        waitpid(pid, &status, 0);
        CHECK_EQ(status, 0);
        CHECK_EQ(guest_held(), DEVICE + 50 * MIB);
        GOOD(cuMemFree_v2(there));
        CHECK_EQ(guest_held(), DEVICE);
}

int main(void)
{
        return RUN(
                CASE(a_ratio_bounds_the_gpu_and_the_limit_the_whole),
                CASE(one_allocation_may_be_all_there_is),
                CASE(kernels_can_be_loaded_when_buffers_have_taken_what_they_can),
                CASE(small_allocations_stay_on_the_gpu_while_it_has_free_memory),
                CASE(oversold_goes_on_beyond_the_limit_up_to_the_host_s_part),
                CASE(a_whole_gpu_may_be_oversold), CASE(a_whole_gpu_may_be_scaled),
                CASE(nvml_shows_the_limit_and_what_is_held_on_gpu_and_host),
                CASE(nvml_alone_shows_a_scaled_gpu),
                CASE(a_gpu_that_others_have_filled_is_as_good_as_a_full_share),
                CASE(without_virtual_memory_the_limit_is_the_limit), CASE(it_goes_with_its_context),
                CASE(what_a_stream_has_freed_goes_with_its_context), CASE(it_goes_with_its_process),
                CASE(pools_handles_and_graphs_stay_on_the_gpu), CASE(two_devices_have_a_part_each),
                CASE(a_forked_child_holds_no_virtual_memory));
}
