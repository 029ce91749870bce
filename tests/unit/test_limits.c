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

/* Limits are read once per process: each look is a process of its own. */
static void look(const char *settings, int expected, unsigned account, uint64_t bytes,
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
                if (limits_bytes(account) != bytes)
                        _exit(3);
                _exit(limits_physical_bytes(account) == physical ? 0 : 4);
        }
        waitpid(pid, &status, 0);
        CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST(every_name_of_the_memory_limit_is_understood)
{
        look("VGPU_MEMORY_LIMIT=300m", 0, 0, 300 * MIB, 300 * MIB);
        look("CUDA_MEM_LIMIT=300Mi", 0, 1, 300 * MIB, 300 * MIB);
        look("CUDA_DEVICE_MEMORY_LIMIT=1.5g", 0, 2, 1536 * MIB, 1536 * MIB);
        look("CUDA_DEVICE_MEMORY_LIMIT_0=300m", 0, 0, 300 * MIB, 300 * MIB);
        look("CUDA_DEVICE_MEMORY_LIMIT_0=300m", 0, 1, UINT64_MAX, UINT64_MAX);
}

TEST(a_name_with_a_number_beats_one_without_and_ours_beats_others)
{
        look("VGPU_MEMORY_LIMIT=1g CUDA_MEM_LIMIT_1=2g", 0, 1, 2048 * MIB, 2048 * MIB);
        look("VGPU_MEMORY_LIMIT_1=1g CUDA_MEM_LIMIT_1=2g", 0, 1, 1024 * MIB, 1024 * MIB);
}

TEST(a_ratio_divides_the_limit)
{
        look("CUDA_MEM_LIMIT=4g CUDA_MEM_RATIO=2", 0, 0, 4096 * MIB, 2048 * MIB);
        look("CUDA_MEM_LIMIT=4g CUDA_MEM_RATIO_0=2", 0, 1, 4096 * MIB, 4096 * MIB);
}

TEST(nonsense_is_an_error_and_never_no_limit)
{
        look("VGPU_MEMORY_LIMIT=lots", -EINVAL, 0, 0, 0);
        look("CUDA_MEM_LIMIT_63=-1", -EINVAL, 0, 0, 0);
        look("CUDA_MEM_LIMIT=1g CUDA_MEM_RATIO=0.5", -EINVAL, 0, 0, 0);
        look("CUDA_MEM_OVERSOLD=perhaps", -EINVAL, 0, 0, 0);
        look("VGPU_CONTEXT_MEMORY=some", -EINVAL, 0, 0, 0);
        look("VGPU_MEMORY_LIMIT=", -EINVAL, 0, 0, 0);
        look("VGPU_OVERSOLD_HOST_MEMORY=much", -EINVAL, 0, 0, 0);
        look("CUDA_CORE_LIMIT_2=101", -EINVAL, 0, 0, 0);
        look("CUDA_DEVICE_SM_LIMIT=ten", -EINVAL, 0, 0, 0);
        look("CUDA_CORE_SOFT_LIMIT=1000", -EINVAL, 0, 0, 0);
        look("GPU_CORE_UTILIZATION_POLICY=some", -EINVAL, 0, 0, 0);
        look("CUDA_TASK_PRIORITY=2", -EINVAL, 0, 0, 0);
        look("ENV_COMPATIBILITY_MODE=7", -EINVAL, 0, 0, 0);
        look("MANAGER_COMPATIBILITY_MODE=cgroup", -EINVAL, 0, 0, 0);
        look("LOGGER_LEVEL=6", -EINVAL, 0, 0, 0);
        look("LIBCUDA_LOG_LEVEL=5", -EINVAL, 0, 0, 0);
        look("VGPU_LOG=loud", -EINVAL, 0, 0, 0);
        look("VGPU_SHARE=/nonexistent", -ENOENT, 0, 0, 0);
}

int main(void)
{
        return RUN(CASE(every_name_of_the_memory_limit_is_understood),
                   CASE(a_name_with_a_number_beats_one_without_and_ours_beats_others),
                   CASE(a_ratio_divides_the_limit), CASE(nonsense_is_an_error_and_never_no_limit));
}
