/* SPDX-License-Identifier: Apache-2.0 */
/* A killed process's memory, which the driver frees a while after the process is gone. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "guest.h"

enum { RELEASE_MS = 400 };

static void holder_kill(pid_t pid)
{
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

static void driver_releases_after(unsigned milliseconds)
{
        sim_machine_open()->file->header.release_us = milliseconds * 1000;
}

SIM_TEST(what_a_killed_process_held_is_had_again_when_the_driver_has_freed_it)
{
        CUdeviceptr address;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        pid_t holder = guest_holder(150 * MIB);
        guest_start(NULL);
        driver_releases_after(RELEASE_MS);
        holder_kill(holder);
        const uint64_t begin_ns = clock_now_ns();
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        CHECK(clock_now_ns() - begin_ns >= (RELEASE_MS - 1) * NS_PER_MS);
        CHECK_EQ(guest_device_bytes(0), 100 * MIB);
        guest_check_charges(200 * MIB);
}

SIM_TEST(a_program_that_starts_after_the_death_waits_for_the_driver_too)
{
        CUdeviceptr address;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        pid_t holder = guest_holder(150 * MIB);
        driver_releases_after(RELEASE_MS);
        holder_kill(holder);
        const uint64_t begin_ns = clock_now_ns();
        usleep(20000); /* so long ago that the dead are looked for as it starts */
        guest_start(NULL);
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        CHECK(clock_now_ns() - begin_ns >= (RELEASE_MS - 1) * NS_PER_MS);
        CHECK_EQ(guest_device_bytes(0), 100 * MIB);
}

SIM_TEST(what_fits_beside_the_dead_waits_for_nobody)
{
        CUdeviceptr address;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        pid_t holder = guest_holder(150 * MIB);
        guest_start(NULL);
        driver_releases_after(60 * 1000);
        holder_kill(holder);
        CHECK_EQ(cuMemAlloc_v2(&address, 50 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 200 * MIB);
        /* More than the limit is refused at once, whoever holds what. */
        const uint64_t begin_ns = clock_now_ns();
        CHECK_EQ(cuMemAlloc_v2(&address, 201 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(clock_now_ns() - begin_ns < NS_PER_S);
        CHECK_EQ(guest_held(), 200 * MIB);
}

SIM_TEST(a_context_waits_for_the_memory_of_the_dead_too)
{
        CUcontext context;

        guest_machine_with(1, 60 * MIB);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        pid_t holder = guest_holder(80 * MIB); /* and its context */
        guest_start(NULL);
        driver_releases_after(RELEASE_MS);
        holder_kill(holder);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 120 * MIB);
        guest_check_charges(200 * MIB);
}

/* The process that another one has become: 0, the memory was to be had at once. */
static int again(void)
{
        const uint64_t begin_ns = clock_now_ns();
        CUdeviceptr address;
        CUcontext context;

        if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
                return 3;
        if (cuMemAlloc_v2(&address, 200 * MIB) != CUDA_SUCCESS)
                return 4;
        return clock_now_ns() - begin_ns < 2 * NS_PER_S ? 0 : 5;
}

SIM_TEST(what_a_process_held_before_it_became_another_program_is_had_at_once)
{
        CUdeviceptr address;
        int status;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        const pid_t pid = fork();
        if (pid == 0) {
                guest_start(NULL);
                if (cuMemAlloc_v2(&address, 150 * MIB) == CUDA_SUCCESS)
                        execl("/proc/self/exe", "again", "again", NULL);
                _exit(2);
        }
        waitpid(pid, &status, 0);
        CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
        if (argc == 2 && strcmp(argv[1], "again") == 0)
                return again();
        return RUN(CASE(what_a_killed_process_held_is_had_again_when_the_driver_has_freed_it),
                   CASE(a_program_that_starts_after_the_death_waits_for_the_driver_too),
                   CASE(what_fits_beside_the_dead_waits_for_nobody),
                   CASE(a_context_waits_for_the_memory_of_the_dead_too),
                   CASE(what_a_process_held_before_it_became_another_program_is_had_at_once));
}
