/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of compute by environment: every system's names, policies, and that nonsense is no limit. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"

enum { LIMIT = 20, RUN_MS = 400 };

static void launch_kernel(struct worker *w)
{
        CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_2MS], 1, 1, 1, 32, 1, 1, 0, w->stream, NULL,
                                NULL),
                 CUDA_SUCCESS);
}

SIM_TEST(nonsense_is_no_limit_and_no_gpu)
{
        static const char *const bad[][2] = {
                { "VGPU_CORES", "lots" },      { "CUDA_DEVICE_SM_LIMIT", "101" },
                { "CUDA_CORE_LIMIT_0", "-3" }, { "VGPU_CORES_POLICY", "sometimes" },
                { "VGPU_COPIES", "all" },      { "CUDA_TASK_PRIORITY", "7" }
        };

        worker_machine(NULL);
        for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                pid_t pid = fork();
                if (pid == 0) {
                        setenv(bad[i][0], bad[i][1], 1);
                        _exit(cuInit(0) == CUDA_ERROR_NOT_PERMITTED ? 0 : 1);
                }
                int status;
                waitpid(pid, &status, 0);
                CHECK_EQ(status, 0);
        }
}

/* A worker of a program that has these variables, name=value …. */
static void start_with(const char *settings, struct worker *ret_worker)
{
        char text[128];

        worker_machine(NULL);
        strncpy(text, settings, sizeof text - 1);
        text[sizeof text - 1] = '\0';
        for (char *s = strtok(text, " "); s; s = strtok(NULL, " "))
                putenv(strdup(s));
        worker_start(ret_worker);
}

static void check_limit(const char *settings)
{
        struct worker worker;

        start_with(settings, &worker);
        judge_rounds(LIMIT, &worker, launch_kernel, JUDGE_RUN_MS);
}

static struct load load_under(const char *settings)
{
        struct worker worker;

        start_with(settings, &worker);
        return worker_run(&worker, launch_kernel, RUN_MS);
}

SIM_TEST(names_of_other_systems)
{
        check_limit("CUDA_DEVICE_SM_LIMIT=20");
}

SIM_TEST(a_name_with_a_number)
{
        check_limit("CUDA_CORE_LIMIT_0=20 CUDA_CORE_LIMIT=90");
}

SIM_TEST(a_policy_that_takes_the_limit_away)
{
        CHECK(load_under("VGPU_CORES=20 GPU_CORE_UTILIZATION_POLICY=disable").percent > 60);
}

SIM_TEST(a_policy_that_lends)
{
        CHECK(load_under("VGPU_CORES=20 VGPU_CORES_POLICY=balance").percent > 60);
}

SIM_TEST(a_soft_limit_without_a_neighbour)
{
        check_limit("CUDA_CORE_LIMIT=5 CUDA_CORE_SOFT_LIMIT=20");
}

int main(void)
{
        return RUN(CASE(nonsense_is_no_limit_and_no_gpu), CASE(names_of_other_systems),
                   CASE(a_name_with_a_number), CASE(a_policy_that_takes_the_limit_away),
                   CASE(a_policy_that_lends), CASE(a_soft_limit_without_a_neighbour));
}
