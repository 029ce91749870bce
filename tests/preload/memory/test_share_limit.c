/* SPDX-License-Identifier: Apache-2.0 */
/* Limits by a share file: it is the authority, and the environment may only take away. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "share.h"

static struct share owner;

/* A share with the first `named` GPUs of the case's machine, this much memory of each; open for its
 * owner. Its file needs no name once the library has it: see begin(). */
static void share_make(unsigned named, uint64_t limit_bytes)
{
        struct share_copy copy = { .device_count = named, .name = "test" };
        struct machine *machine = sim_machine_open();
        struct err e = { 0 };
        char path[128];

        for (unsigned i = 0; i < named; i++) {
                memcpy(copy.devices[i].uuid, machine_gpu(machine, i)->uuid, SHARE_UUID);
                copy.devices[i].limit_bytes = limit_bytes;
                copy.devices[i].physical_bytes = limit_bytes;
        }
        snprintf(copy.region, sizeof copy.region, "%s" SIM_REGION, getenv("VGPU_SIM"));
        snprintf(path, sizeof path, "%s-share", getenv("VGPU_SIM"));
        setenv("VGPU_SHARE", path, 1);
        if (share_create(path, &copy, &e) < 0 || share_open(path, true, &owner, &e) < 0)
                fail_msg("%s", e.text);
}

static void begin(void)
{
        guest_start(NULL);
        unlink(getenv("VGPU_SHARE"));
}

/* As a node gives a whole GPU to a container that asked to be oversold. */
SIM_TEST(a_share_of_a_whole_gpu_may_be_oversold)
{
        CUdeviceptr address;
        struct share_copy copy;

        guest_machine(1);
        share_make(1, SHARE_UNLIMITED);
        memcpy(&copy, share_current(&owner), sizeof copy);
        copy.devices[0].flags = SHARE_OVERSOLD;
        copy.devices[0].host_bytes = 500 * MIB;
        CHECK_EQ(share_update(&owner, &copy, NULL), 0);
        begin();
        CHECK_EQ(cuMemAlloc_v2(&address, 900 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 600 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 900 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 26 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        /* Changed by its owner while in use. */
        copy.devices[0].host_bytes = 600 * MIB;
        CHECK_EQ(share_update(&owner, &copy, NULL), 0);
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 900 * MIB);
}

SIM_TEST(the_share_beats_the_environment)
{
        CUdeviceptr address;

        guest_machine(1);
        share_make(1, 100 * MIB);
        unsetenv("VGPU_REGION");
        setenv("VGPU_MEMORY_LIMIT", "900m", 1);
        setenv("CUDA_DEVICE_MEMORY_LIMIT_0", "900m", 1);
        const char *text = guest_said(begin);
        CHECK(strstr(text, "asks for 900MiB") && strstr(text, "the share gives 100MiB"));
        CHECK(strstr(text, "CUDA_DEVICE_MEMORY_LIMIT_0") && !strstr(text, "VGPU_MEMORY_LIMIT"));
        CHECK(strchr(text, '\n') == text + strlen(text) - 1);
        CHECK_EQ(cuMemAlloc_v2(&address, 102 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        guest_check_charges(100 * MIB);
}

SIM_TEST(the_environment_may_tighten_a_share)
{
        CUdeviceptr address;
        size_t total;

        guest_machine(1);
        share_make(1, 100 * MIB);
        unsetenv("VGPU_REGION");
        setenv("CUDA_MEM_LIMIT_0", "60m", 1);
        CHECK_STR(guest_said(begin), "");
        CHECK_EQ(cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
        CHECK_EQ(total, 60 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 62 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
}

SIM_TEST(what_the_environment_tightened_the_owner_can_tighten_further)
{
        struct err e = { 0 };
        CUdeviceptr address;

        guest_machine(1);
        share_make(1, 100 * MIB);
        setenv("CUDA_MEM_LIMIT_0", "60m", 1);
        begin();
        struct share_copy copy = *share_current(&owner);
        copy.devices[0].limit_bytes = copy.devices[0].physical_bytes = 40 * MIB;
        CHECK_EQ(share_update(&owner, &copy, &e), 0);
        CHECK_EQ(cuMemAlloc_v2(&address, 42 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        copy.devices[0].limit_bytes = copy.devices[0].physical_bytes = 200 * MIB;
        CHECK_EQ(share_update(&owner, &copy, &e), 0);
        CHECK_EQ(cuMemAlloc_v2(&address, 62 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
}

static pid_t lowered_after(unsigned milliseconds, uint64_t limit_bytes)
{
        struct share_copy copy = *share_current(&owner);
        pid_t pid = fork();

        if (pid)
                return pid;
        usleep(milliseconds * 1000);
        copy.devices[0].limit_bytes = copy.devices[0].physical_bytes = limit_bytes;
        _exit(share_update(&owner, &copy, NULL) < 0);
}

SIM_TEST(an_allocation_that_waits_for_the_dead_keeps_to_a_limit_lowered_meanwhile)
{
        CUdeviceptr address;
        int status = -1;

        guest_machine(1);
        share_make(1, 200 * MIB);
        pid_t holder = guest_holder(150 * MIB);
        begin();
        sim_machine_open()->file->header.release_us = 500 * 1000;
        kill(holder, SIGKILL);
        waitpid(holder, NULL, 0);
        pid_t owner_pid = lowered_after(100, 100 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 120 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        waitpid(owner_pid, &status, 0);
        CHECK_EQ(status, 0);
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 100 * MIB);
}

/* What would loosen a share is not heard. */
SIM_TEST(the_environment_cannot_exempt_contexts_or_oversell)
{
        CUdeviceptr address;

        guest_machine_with(1, 40 * MIB);
        share_make(1, 100 * MIB);
        setenv("VGPU_CONTEXT_MEMORY", "exempt", 1);
        setenv("CUDA_OVERSUBSCRIBE", "true", 1);
        begin();
        CHECK_EQ(guest_held(), 40 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 62 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
        guest_check_charges(100 * MIB);
}

/* "Change the cache file name": not to multiply a share. */
SIM_TEST(a_cache_path_has_no_effect_under_a_share)
{
        guest_machine(1);
        share_make(1, 100 * MIB);
        setenv("CUDA_DEVICE_MEMORY_SHARED_CACHE", "/nowhere/a.cache", 1);
        unsetenv("VGPU_REGION");
        setenv("VGPU_LOG", "info", 1);
        const char *text = guest_said(begin);
        CHECK(strstr(text, "CUDA_DEVICE_MEMORY_SHARED_CACHE has no effect"));
}

SIM_TEST(a_device_that_the_share_does_not_name)
{
        CUcontext context;
        size_t total = 1;
        int count;

        guest_machine(2);
        share_make(1, 100 * MIB);
        begin();
        CHECK_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
        CHECK_EQ(count, 2);
        CHECK_EQ(cuDeviceTotalMem_v2(&total, 1), CUDA_SUCCESS);
        CHECK_EQ(total, 0);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 1), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(1), 0);
}

SIM_TEST(a_device_without_a_limit_in_the_environment)
{
        CUcontext context;
        CUdeviceptr address;
        size_t total;

        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT_0", "100m", 1);
        guest_start(NULL);
        CHECK_EQ(cuDeviceTotalMem_v2(&total, 1), CUDA_SUCCESS);
        CHECK_EQ(total, 1024 * MIB);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 1), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 1000 * MIB), CUDA_SUCCESS);
}

/* Damaged, cut short, of another release: never "no limit". */
SIM_TEST(a_share_that_cannot_be_read_means_no_gpu)
{
        guest_machine(1);
        share_make(1, 100 * MIB);
        CHECK_EQ(truncate(getenv("VGPU_SHARE"), 100), 0);
        CHECK_EQ(cuInit(0), CUDA_ERROR_NOT_PERMITTED);
        unlink(getenv("VGPU_SHARE"));
}

static void refused_start(void)
{
        CHECK_EQ(cuInit(0), CUDA_ERROR_NOT_PERMITTED);
}

/* One line, whatever the level: the variable, and what would be right. */
SIM_TEST(why_there_is_no_gpu_is_said_at_every_level)
{
        guest_machine(1);
        setenv("LOGGER_LEVEL", "0", 1);
        setenv("ENV_COMPATIBILITY_MODE", "9", 1);
        const char *text = guest_said(refused_start);
        CHECK(strstr(text, "ENV_COMPATIBILITY_MODE: '9' is not a mode"));
        CHECK(strstr(text, "the program gets no GPU"));
        CHECK(strchr(text, '\n') == text + strlen(text) - 1);
}

static void refused_allocation(void)
{
        CUdeviceptr address;

        CHECK_EQ(cuMemAlloc_v2(&address, 200 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
}

/* A refusal is information: seen from LOGGER_LEVEL 0 on, of LIBCUDA_LOG_LEVEL from 3 on. */
static void refusal_is_told(const char *name, const char *level, bool is_told)
{
        guest_machine(1);
        setenv(name, level, 1);
        guest_start("100m");
        CHECK_EQ(strstr(guest_said(refused_allocation), "refused on device 0") != NULL, is_told);
}

SIM_TEST(a_refusal_is_told_at_logger_level_0)
{
        refusal_is_told("LOGGER_LEVEL", "0", true);
}

SIM_TEST(a_refusal_is_told_at_libcuda_log_level_3)
{
        refusal_is_told("LIBCUDA_LOG_LEVEL", "3", true);
}

SIM_TEST(a_refusal_is_not_told_at_libcuda_log_level_2)
{
        refusal_is_told("LIBCUDA_LOG_LEVEL", "2", false);
}

SIM_TEST(a_refusal_is_told_at_info)
{
        refusal_is_told("VGPU_LOG", "info", true);
}

SIM_TEST(a_refusal_is_not_told_at_warn)
{
        refusal_is_told("VGPU_LOG", "warn", false);
}

int main(void)
{
        return RUN(CASE(a_share_of_a_whole_gpu_may_be_oversold),
                   CASE(the_share_beats_the_environment), CASE(the_environment_may_tighten_a_share),
                   CASE(what_the_environment_tightened_the_owner_can_tighten_further),
                   CASE(an_allocation_that_waits_for_the_dead_keeps_to_a_limit_lowered_meanwhile),
                   CASE(the_environment_cannot_exempt_contexts_or_oversell),
                   CASE(a_cache_path_has_no_effect_under_a_share),
                   CASE(a_device_that_the_share_does_not_name),
                   CASE(a_device_without_a_limit_in_the_environment),
                   CASE(a_share_that_cannot_be_read_means_no_gpu),
                   CASE(why_there_is_no_gpu_is_said_at_every_level),
                   CASE(a_refusal_is_told_at_logger_level_0),
                   CASE(a_refusal_is_told_at_libcuda_log_level_3),
                   CASE(a_refusal_is_not_told_at_libcuda_log_level_2),
                   CASE(a_refusal_is_told_at_info), CASE(a_refusal_is_not_told_at_warn));
}
