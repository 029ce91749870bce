/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts count: the whole that the GPU shows stays under the limit. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "region.h"

static uint64_t free_now(void)
{
        size_t free_bytes, total_bytes;

        assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
        return free_bytes;
}

SIM_TEST(a_context_is_part_of_what_is_held)
{
        CUdeviceptr address;

        guest_machine_with(1, 70 * MIB);
        guest_start("200m");
        CHECK_EQ(guest_device_bytes(0), 70 * MIB);
        CHECK_EQ(free_now(), 130 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 130 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 200 * MIB);
}

SIM_TEST(a_context_that_does_not_fit_is_refused_and_leaves_nothing)
{
        CUcontext context;

        guest_machine_with(1, 400 * MIB);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 0);
}

SIM_TEST(an_exempt_context_leaves_the_whole_limit)
{
        CUdeviceptr address;

        guest_machine_with(1, 400 * MIB);
        setenv("VGPU_CONTEXT_MEMORY", "exempt", 1);
        guest_start("200m");
        CHECK_EQ(free_now(), 200 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 200 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

SIM_TEST(a_destroyed_context_gives_back_all_that_was_held_in_it)
{
        CUcontext first, second;
        CUdeviceptr address;

        guest_machine_with(1, 70 * MIB);
        guest_start("300m");
        CHECK_EQ(cuCtxGetCurrent(&first), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 50 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 100), CUDA_SUCCESS);
        CHECK_EQ(300 * MIB - free_now(), guest_device_bytes(0));
        CHECK_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);
        CHECK_EQ(free_now(), 230 * MIB);
        CHECK_EQ(guest_device_bytes(0), 70 * MIB);
}

/* The old way: attached once and detached. */
SIM_TEST(a_detached_context_gives_back_all_that_was_held_in_it)
{
        CUcontext first, second;
        CUdeviceptr address;

        guest_machine_with(1, 70 * MIB);
        guest_start("300m");
        CHECK_EQ(cuCtxGetCurrent(&first), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 50 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuCtxDetach(second), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);
        CHECK_EQ(free_now(), 230 * MIB);
        CHECK_EQ(guest_device_bytes(0), 70 * MIB);
}

SIM_TEST(a_primary_context_counts_while_somebody_retains_it)
{
        CUcontext context;
        CUdeviceptr address;

        guest_machine_with(1, 70 * MIB);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        for (unsigned i = 0; i < 3; i++) {
                CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
                CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
                CHECK_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
                CHECK_EQ(cuMemAlloc_v2(&address, 10 * MIB), CUDA_SUCCESS);
                CHECK_EQ(free_now(), 120 * MIB);
                CHECK_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
                CHECK_EQ(free_now(), 120 * MIB);
                CHECK_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
                CHECK_EQ(guest_device_bytes(0), 0);
        }
}

SIM_TEST(heaps_of_a_context_count)
{
        guest_machine_with(1, 70 * MIB);
        guest_start("200m");
        CHECK_EQ(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 48 * MIB), CUDA_SUCCESS);
        CHECK_EQ(200 * MIB - free_now(), guest_device_bytes(0));
        CHECK_EQ(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 80 * MIB), CUDA_SUCCESS);
        CHECK_EQ(200 * MIB - free_now(), guest_device_bytes(0));
        CHECK(guest_device_bytes(0) >= 140 * MIB);
}

/* Processes that start at once measure one after the other; nobody is refused who fits. */
SIM_TEST(contexts_of_many_processes_fit_side_by_side)
{
        int status, bad = 0;

        guest_machine_with(1, 70 * MIB);
        for (unsigned i = 0; i < 10; i++) {
                if (fork() == 0) {
                        CUdeviceptr address;
                        guest_start("1000m");
                        CUresult r = cuMemAlloc_v2(&address, 30 * MIB);
                        usleep(200000);
                        _exit(r == CUDA_SUCCESS ? 0 : 1);
                }
        }
        while (wait(&status) > 0)
                bad += status != 0;
        CHECK_EQ(bad, 0);
}

/* Waits for a process that measures, to learn that contexts are larger than the remainder. */
static CUresult context_after(struct region *region, uint64_t context_bytes)
{
        enum { STARTED_US = 300000 };
        _Atomic uint64_t *measuring = &region->file->devices[0].measuring;
        CUcontext context;
        int status = -1;

        atomic_store(measuring, region->slot);
        pid_t pid = fork();
        if (pid == 0)
                _exit((int)(cuInit(0) ? CUDA_ERROR_UNKNOWN : cuCtxCreate_v2(&context, 0, 0)));
        usleep(STARTED_US);
        CHECK_EQ(region_charge(region, 0, REGION_DEVICE, 150 * MIB, 200 * MIB), 0);
        atomic_store(&region->file->devices[0].context_bytes, context_bytes);
        atomic_store(measuring, 0); /* it looks again by itself after 10 ms */
        waitpid(pid, &status, 0);
        CHECK(WIFEXITED(status));
        return (CUresult)WEXITSTATUS(status);
}

/* The first contexts of a container: what the one before took is known when it is a process's turn. */
SIM_TEST(a_context_that_waited_for_another_knows_what_that_one_took)
{
        struct region region = { 0 };

        guest_machine_with(1, 70 * MIB);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        assert_int_equal(region_open(getenv("VGPU_REGION"), REGION_DEVICES, &region, NULL), 0);
        assert_int_equal(region_join(&region), 0);
        CHECK_EQ(context_after(&region, 60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        /* The driver was not asked: it would have taken 70. */
        CHECK_EQ(atomic_load(&region.file->devices[0].context_bytes), 60 * MIB);
        region_close(&region);
}

int main(void)
{
        return RUN(CASE(a_context_is_part_of_what_is_held),
                   CASE(a_context_that_does_not_fit_is_refused_and_leaves_nothing),
                   CASE(an_exempt_context_leaves_the_whole_limit),
                   CASE(a_destroyed_context_gives_back_all_that_was_held_in_it),
                   CASE(a_detached_context_gives_back_all_that_was_held_in_it),
                   CASE(a_primary_context_counts_while_somebody_retains_it),
                   CASE(heaps_of_a_context_count),
                   CASE(contexts_of_many_processes_fit_side_by_side),
                   CASE(a_context_that_waited_for_another_knows_what_that_one_took));
}
