/* SPDX-License-Identifier: Apache-2.0 */
/* What the library says, and at which level: why memory is refused, and how much there is to see. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static unsigned count(const char *text, const char *part)
{
        unsigned found = 0;

        for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
                found++;
        return found;
}

static void over_the_limit(void)
{
        CUdeviceptr address;

        guest_start(NULL);
        CHECK_EQ(cuMemAlloc_v2(&address, 40 * MIB), CUDA_SUCCESS);
        for (unsigned i = 0; i < 3; i++)
                CHECK_EQ(cuMemAlloc_v2(&address, 80 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
}

SIM_TEST(a_refusal_by_the_limit_is_said_once)
{
        guest_machine(1);
        setenv("CUDA_MEM_LIMIT_0", "100m", 1);
        CHECK_STR(guest_said(over_the_limit),
                  "info vgpu: 80MiB refused on device 0 by the limit (CUDA_MEM_LIMIT_0): 40MiB of "
                  "100MiB are held\n");
}

static void over_the_gpu(void)
{
        CUdeviceptr address;

        guest_start(NULL);
        for (unsigned i = 0; i < 3; i++)
                CHECK_EQ(cuMemAlloc_v2(&address, 200 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
}

SIM_TEST(a_refusal_by_the_driver_is_the_drivers)
{
        guest_machine(1);
        guest_device_taken(0, 900 * MIB);
        setenv("VGPU_MEMORY_LIMIT", "500m", 1);
        const char *text = guest_said(over_the_gpu);
        CHECK_EQ(count(text, "\n"), 1);
        CHECK(strstr(text, "200MiB refused on device 0 by the driver, not by the limit"));
        CHECK(strstr(text, "the GPU is full"));
        CHECK(strstr(text, "0B of 500MiB are held"));
}

/* In a process of its own, which ends without giving it back. */
static void hold_and_leave(void)
{
        CUdeviceptr address;
        int status = -1;
        const pid_t pid = fork();

        if (pid == 0) {
                guest_start(NULL);
                _exit(cuMemAlloc_v2(&address, 100 * MIB));
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK_EQ(status, 0);
}

/* Who refuses does not change what is held: the dead hold nothing. */
SIM_TEST(what_the_dead_held_is_not_held)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "500m", 1);
        hold_and_leave();
        guest_device_taken(0, 900 * MIB);
        CHECK(strstr(guest_said(over_the_gpu), " 0B of 500MiB are held"));
}

SIM_TEST(without_a_memory_limit_none_is_spoken_of)
{
        guest_machine(1);
        guest_device_taken(0, 900 * MIB);
        setenv("VGPU_CORES", "30", 1);
        CHECK_STR(guest_said(over_the_gpu),
                  "info vgpu: 200MiB refused on device 0 by the driver: the GPU is full; 0B are "
                  "held, and there is no memory limit\n");
}

/* Ways without a second one say so, too. */
static void create_over_the_gpu(void)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
        CUmemGenericAllocationHandle handle;

        guest_start(NULL);
        CHECK_EQ(cuMemCreate(&handle, 200 * MIB, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemCreate(&handle, 600 * MIB, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

SIM_TEST(each_of_the_two_is_said_once)
{
        guest_machine(1);
        guest_device_taken(0, 900 * MIB);
        setenv("VGPU_MEMORY_LIMIT", "500m", 1);
        const char *text = guest_said(create_over_the_gpu);
        CHECK_EQ(count(text, "\n"), 2);
        CHECK_EQ(count(text, "200MiB refused on device 0 by the driver"), 1);
        CHECK_EQ(count(text, "600MiB refused on device 0 by the limit (VGPU_MEMORY_LIMIT)"), 1);
}

static void context_over_the_limit(void)
{
        CUcontext context;

        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

SIM_TEST(a_context_that_does_not_fit_says_so)
{
        guest_machine_with(1, 300 * MIB);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        const char *text = guest_said(context_over_the_limit);
        CHECK_EQ(count(text, "by the limit (VGPU_MEMORY_LIMIT): 0B of 200MiB are held"), 1);
}

/* How many lines show at this level of LOGGER_LEVEL; NULL: at the default. */
static unsigned lines_at(const char *level)
{
        if (level)
                setenv("LOGGER_LEVEL", level, 1);
        return count(guest_said(over_the_limit), "\n");
}

#define LINES_TEST(name, level, check)                  \
        SIM_TEST(name)                                  \
        {                                               \
                guest_machine(1);                       \
                setenv("VGPU_MEMORY_LIMIT", "100m", 1); \
                const unsigned lines = lines_at(level); \
                CHECK(check);                           \
        }

LINES_TEST(by_default_it_is_a_line, NULL, lines == 1)
LINES_TEST(level_3_is_the_default, "3", lines == 1)
LINES_TEST(level_0_shows_infos, "0", lines == 1)

static void start_only(void)
{
        guest_start(NULL);
}

SIM_TEST(level_4_shows_more_than_3)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        setenv("LOGGER_LEVEL", "4", 1);
        const char *text = guest_said(over_the_limit);
        CHECK(count(text, "\n") > 4);
        CHECK_EQ(count(text, "refused"), 3); /* each of them */
        CHECK(strstr(text, "debug vgpu: limits come from the environment"));
        CHECK(strstr(text, "debug vgpu: region '"));
        CHECK(strstr(text, "debug vgpu: device 0: a context took"));
        CHECK(!strstr(text, "detail vgpu: "));
}

SIM_TEST(level_5_shows_more_than_4)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        setenv("LOGGER_LEVEL", "5", 1);
        CHECK(strstr(guest_said(start_only), "detail vgpu: "));
}

#define BAD_LEVEL_TEST(test, variable, value)                                       \
        SIM_TEST(test)                                                              \
        {                                                                           \
                guest_machine(1);                                                   \
                setenv("VGPU_MEMORY_LIMIT", "100m", 1);                             \
                setenv(variable, value, 1);                                         \
                const char *text = guest_said(over_the_limit);                      \
                CHECK_EQ(count(text, "\n"), 2);                                     \
                CHECK(strstr(text, "warn vgpu: " variable ": invalid value '" value \
                                   "' (expected ") == text);                        \
                CHECK(strstr(text, "; using the default\n"));                       \
        }

BAD_LEVEL_TEST(a_bad_level_is_a_warning, "LOGGER_LEVEL", "6")
BAD_LEVEL_TEST(a_bad_level_of_ours_too, "VGPU_LOG", "loud")
BAD_LEVEL_TEST(a_bad_level_of_the_other_family_too, "LIBCUDA_LOG_LEVEL", "many")

SIM_TEST(a_level_without_a_value_is_none)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        setenv("LOGGER_LEVEL", "", 1);
        CHECK_EQ(count(guest_said(over_the_limit), "\n"), 1);
}

int main(void)
{
        return RUN(
                CASE(a_refusal_by_the_limit_is_said_once),
                CASE(a_refusal_by_the_driver_is_the_drivers), CASE(what_the_dead_held_is_not_held),
                CASE(without_a_memory_limit_none_is_spoken_of), CASE(each_of_the_two_is_said_once),
                CASE(a_context_that_does_not_fit_says_so), CASE(by_default_it_is_a_line),
                CASE(level_3_is_the_default), CASE(level_0_shows_infos),
                CASE(level_4_shows_more_than_3), CASE(level_5_shows_more_than_4),
                CASE(a_bad_level_is_a_warning), CASE(a_bad_level_of_ours_too),
                CASE(a_bad_level_of_the_other_family_too), CASE(a_level_without_a_value_is_none));
}
