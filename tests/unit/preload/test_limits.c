/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of limits by environment: every name, their order, and that nonsense is never "no limit". */
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define MIB (UINT64_C(1) << 20)

/* Limits are read once per process: each read is a process of its own. */
static void check_limits(const char *settings, int expected, unsigned device_index, uint64_t bytes,
                         uint64_t physical)
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                char text[256];
                struct err e = { 0 };
                snprintf(text, sizeof text, "%s", settings);
                for (char *s = strtok(text, " "); s; s = strtok(NULL, " "))
                        putenv(strdup(s));
                int r = limits_start(&e);
                if (r != expected)
                        _exit(1);
                if (r < 0)
                        _exit(strlen(e.text) > 10 ? 0 : 2);
                if (limits_bytes(device_index) != bytes)
                        _exit(3);
                _exit(limits_physical_bytes(device_index) == physical ? 0 : 4);
        }
        waitpid(pid, &status, 0);
        CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST(every_name_of_the_memory_limit_is_understood)
{
        check_limits("VGPU_MEMORY_LIMIT=300m", 0, 0, 300 * MIB, 300 * MIB);
        check_limits("CUDA_MEM_LIMIT=300Mi", 0, 1, 300 * MIB, 300 * MIB);
        check_limits("CUDA_DEVICE_MEMORY_LIMIT=1.5g", 0, 2, 1536 * MIB, 1536 * MIB);
        check_limits("VGPU_MEMORY=300m", 0, 0, 300 * MIB, 300 * MIB);
        check_limits("VGPU_MEMORY_1=300m VGPU_MEMORY=1g", 0, 1, 300 * MIB, 300 * MIB);
        check_limits("CUDA_DEVICE_MEMORY_LIMIT_0=300m", 0, 0, 300 * MIB, 300 * MIB);
        check_limits("CUDA_DEVICE_MEMORY_LIMIT_0=300m", 0, 1, UINT64_MAX, UINT64_MAX);
}

TEST(a_name_with_a_number_beats_one_without_and_ours_beats_others)
{
        check_limits("VGPU_MEMORY_LIMIT=1g CUDA_MEM_LIMIT_1=2g", 0, 1, 2048 * MIB, 2048 * MIB);
        check_limits("VGPU_MEMORY_LIMIT_1=1g CUDA_MEM_LIMIT_1=2g", 0, 1, 1024 * MIB, 1024 * MIB);
}

TEST(a_ratio_divides_the_limit)
{
        check_limits("CUDA_MEM_LIMIT=4g CUDA_MEM_RATIO=2", 0, 0, 4096 * MIB, 2048 * MIB);
        check_limits("CUDA_MEM_LIMIT=4g CUDA_MEM_RATIO_0=2", 0, 1, 4096 * MIB, 4096 * MIB);
}

TEST(nonsense_is_an_error_and_never_no_limit)
{
        check_limits("VGPU_MEMORY_LIMIT=lots", -EINVAL, 0, 0, 0);
        check_limits("CUDA_MEM_LIMIT_63=-1", -EINVAL, 0, 0, 0);
        check_limits("CUDA_MEM_LIMIT=1g CUDA_MEM_RATIO=0.5", -EINVAL, 0, 0, 0);
        check_limits("CUDA_MEM_OVERSOLD=perhaps", -EINVAL, 0, 0, 0);
        check_limits("VGPU_CONTEXT_MEMORY=some", -EINVAL, 0, 0, 0);
        check_limits("VGPU_MEMORY_LIMIT=", -EINVAL, 0, 0, 0);
        check_limits("VGPU_OVERSOLD_HOST_MEMORY=much", -EINVAL, 0, 0, 0);
        check_limits("CUDA_CORE_LIMIT_2=101", -EINVAL, 0, 0, 0);
        check_limits("CUDA_DEVICE_SM_LIMIT=ten", -EINVAL, 0, 0, 0);
        check_limits("CUDA_CORE_SOFT_LIMIT=1000", -EINVAL, 0, 0, 0);
        check_limits("GPU_CORE_UTILIZATION_POLICY=some", -EINVAL, 0, 0, 0);
        check_limits("CUDA_TASK_PRIORITY=2", -EINVAL, 0, 0, 0);
        check_limits("ENV_COMPATIBILITY_MODE=7", -EINVAL, 0, 0, 0);
        check_limits("MANAGER_COMPATIBILITY_MODE=cgroup", -EINVAL, 0, 0, 0);
        check_limits("VGPU_CORE=30", -EINVAL, 0, 0, 0);
        check_limits("CUDA_MEM_LIMT_0=1g", -EINVAL, 0, 0, 0);
        check_limits("VGPU_SHARE=/nonexistent", -ENOENT, 0, 0, 0);
}

TEST(a_bad_log_level_costs_no_limit)
{
        check_limits("VGPU_MEMORY_LIMIT=300m LOGGER_LEVEL=6", 0, 0, 300 * MIB, 300 * MIB);
        check_limits("VGPU_MEMORY_LIMIT=300m LIBCUDA_LOG_LEVEL=5", 0, 0, 300 * MIB, 300 * MIB);
        check_limits("VGPU_MEMORY_LIMIT=300m VGPU_LOG=loud", 0, 0, 300 * MIB, 300 * MIB);
}

/* The two that contradict each other are those that were set. */
TEST(a_sentence_names_what_was_set)
{
        struct err e = { 0 };

        setenv("CUDA_CORE_LIMIT_0", "50", 1);
        setenv("CUDA_CORE_SOFT_LIMIT_0", "20", 1);
        CHECK_EQ(limits_start(&e), -EINVAL);
        CHECK_STR(e.text, "CUDA_CORE_SOFT_LIMIT_0: 20 is below CUDA_CORE_LIMIT_0, which is 50");
        unsetenv("CUDA_CORE_LIMIT_0");
        unsetenv("CUDA_CORE_SOFT_LIMIT_0");
}

int main(void)
{
        return RUN(CASE(a_bad_log_level_costs_no_limit),
                   CASE(every_name_of_the_memory_limit_is_understood),
                   CASE(a_name_with_a_number_beats_one_without_and_ours_beats_others),
                   CASE(a_ratio_divides_the_limit), CASE(nonsense_is_an_error_and_never_no_limit),
                   CASE(a_sentence_names_what_was_set)); /* the last: it starts this process */
}
