/* SPDX-License-Identifier: Apache-2.0 */
/* Plain device memory under a limit: exact, released exactly once, on the right device. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static uint64_t free_now(void)
{
        size_t free_bytes, total_bytes;

        assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
        return free_bytes;
}

SIM_TEST(the_whole_limit_can_be_had_and_not_a_granule_more)
{
        CUdeviceptr address[101];

        guest_machine(1);
        guest_start("200m");
        for (unsigned i = 0; i < 100; i++)
                CHECK_EQ(cuMemAlloc_v2(&address[i], 2 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address[100], 1), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 200 * MIB);
        for (unsigned i = 0; i < 100; i++)
                CHECK_EQ(cuMemFree_v2(address[i]), CUDA_SUCCESS);
        CHECK_EQ(free_now(), 200 * MIB);
        CHECK_EQ(guest_device_bytes(0), 0);
}

SIM_TEST(the_container_sees_its_limit_as_its_gpu)
{
        size_t total, free_bytes;
        CUdeviceptr address;

        guest_machine(1);
        guest_start("200m");
        CHECK_EQ(cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
        CHECK_EQ(total, 200 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 50 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
        CHECK_EQ(total, 200 * MIB);
        CHECK_EQ(free_bytes, 150 * MIB);
        CHECK_EQ(cuMemGetInfo_v2(NULL, &total), CUDA_SUCCESS);
}

SIM_TEST(small_allocations_are_charged_by_the_block)
{
        CUdeviceptr address[4096];

        guest_machine(1);
        guest_start("8m");
        for (unsigned i = 0; i < 4096; i++)
                CHECK_EQ(cuMemAlloc_v2(&address[i], 1024), CUDA_SUCCESS);
        CHECK(guest_device_bytes(0) <= 8 * MIB);
        CHECK_EQ(free_now(), 8 * MIB - guest_device_bytes(0));
        for (unsigned i = 0; i < 4096; i++)
                CHECK_EQ(cuMemFree_v2(address[i]), CUDA_SUCCESS);
        CHECK_EQ(free_now(), 8 * MIB);
}

SIM_TEST(a_failed_allocation_gives_its_charge_back)
{
        CUdeviceptr address;

        guest_machine(1);
        guest_start("2g"); /* more than the GPU has */
        CHECK_EQ(cuMemAlloc_v2(&address, 1500 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 1000 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
        CHECK_EQ(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemFree_v2(0), CUDA_SUCCESS);
        CHECK_EQ(free_now(), 1024 * MIB);
}

SIM_TEST(pitched_memory_is_charged_with_its_padding)
{
        CUdeviceptr address;
        size_t pitch;

        guest_machine(1);
        guest_start("200m");
        CHECK_EQ(cuMemAllocPitch_v2(&address, &pitch, 1, 400000, 4), CUDA_SUCCESS);
        CHECK_EQ(200 * MIB - free_now(), guest_device_bytes(0));
        CHECK_EQ(cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX - 3, 2, 4),
                 CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
}

/* Position 1 in NVML's order is CUDA's device 0 here: its limit is _1's. */
SIM_TEST(a_hidden_device_does_not_move_the_limits)
{
        CUdeviceptr address;

        guest_machine(2);
        setenv("CUDA_VISIBLE_DEVICES", "1", 1);
        setenv("VGPU_MEMORY_LIMIT_0", "10m", 1);
        setenv("VGPU_MEMORY_LIMIT_1", "100m", 1);
        guest_start(NULL);
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(1), 100 * MIB);
}

/* Eight processes race to one limit; the GPU never shows more. */
static int racer(void)
{
        CUdeviceptr address[64];

        guest_start("100m");
        for (unsigned round = 0; round < 30; round++) {
                unsigned held = 0;
                while (held < 64 && cuMemAlloc_v2(&address[held], 6 * MIB) == CUDA_SUCCESS)
                        held++;
                if (guest_device_bytes(0) > 100 * MIB)
                        return 1;
                while (held)
                        cuMemFree_v2(address[--held]);
        }
        return 0;
}

SIM_TEST(processes_of_one_container_share_one_limit)
{
        int status, bad = 0;

        guest_machine(1);
        for (unsigned i = 0; i < 8; i++)
                if (fork() == 0)
                        _exit(racer());
        while (wait(&status) > 0)
                bad += status != 0;
        CHECK_EQ(bad, 0);
        CUdeviceptr address;
        guest_start("100m");
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
}

SIM_TEST(what_a_killed_process_held_can_be_had_again)
{
        CUdeviceptr address;

        guest_machine(1);
        pid_t pid = fork();
        if (pid == 0) {
                guest_start("100m");
                cuMemAlloc_v2(&address, 100 * MIB);
                raise(9);
        }
        waitpid(pid, NULL, 0);
        guest_start("100m");
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
}

int main(void)
{
        return RUN(CASE(the_whole_limit_can_be_had_and_not_a_granule_more),
                   CASE(the_container_sees_its_limit_as_its_gpu),
                   CASE(small_allocations_are_charged_by_the_block),
                   CASE(a_failed_allocation_gives_its_charge_back),
                   CASE(pitched_memory_is_charged_with_its_padding),
                   CASE(a_hidden_device_does_not_move_the_limits),
                   CASE(processes_of_one_container_share_one_limit),
                   CASE(what_a_killed_process_held_can_be_had_again));
}
