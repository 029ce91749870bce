/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the start: what a process meets at cuInit, before it and after fork. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_prototypes.h"
#include "event.h"
#include "file.h"
#include "scope.h"
#include "sim.h"

SIM_TEST(without_a_machine_there_is_no_device)
{
        unsetenv("VGPU_SIM");
        CHECK_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

SIM_TEST(a_path_where_nothing_is_means_no_device)
{
        CHECK_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

SIM_TEST(a_file_that_is_no_machine_is_refused)
{
        CHECK_EQ(file_replace(getenv("VGPU_SIM"), "hello\n", 6, 0600), 0);
        CHECK_EQ(cuInit(0), CUDA_ERROR_SYSTEM_NOT_READY);
}

SIM_TEST(flags_must_be_zero)
{
        sim_machine("a100-40gb", 1);
        CHECK_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
}

SIM_TEST(cuinit_may_be_called_again)
{
        int count = 0;

        sim_machine("a100-40gb", 3);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
        CHECK_EQ(count, 3);
}

SIM_TEST(before_cuinit_calls_are_refused)
{
        int count = 7;
        CUcontext context;

        sim_machine("a100-40gb", 1);
        CHECK_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
        CHECK_EQ(count, 7);
        CHECK_EQ(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
}

SIM_TEST(the_version_is_known_before_cuinit)
{
        int version = 0;

        sim_machine("a100-40gb", 1);
        CHECK_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
        CHECK_EQ(version, 13000);
}

static int ask_after_fork(void)
{
        int count;

        if (cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED)
                return 1;
        return cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 2;
}

SIM_TEST(a_child_of_an_initialised_process_is_refused)
{
        int count;

        sim_machine("a100-40gb", 1);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(sim_in_child(ask_after_fork), 0);
        CHECK_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
}

static int start(void)
{
        return (int)cuInit(0);
}

SIM_TEST(a_child_forked_before_cuinit_is_free)
{
        sim_machine("a100-40gb", 1);
        CHECK_EQ(sim_in_child(start), CUDA_SUCCESS);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
}

SIM_TEST(a_fault_on_demand_strikes_as_often_as_asked)
{
        int count;

        sim_machine("a100-40gb", 1);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        struct machine *machine = sim_machine_open();
        CHECK_EQ(fault_fail(machine, "cuDeviceGetCount", CUDA_ERROR_UNKNOWN, 2), 0);
        CHECK_EQ(cuDeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
        CHECK_EQ(cuDriverGetVersion(&count), CUDA_SUCCESS);
        CHECK_EQ(cuDeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
        CHECK_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
}

SIM_TEST(the_call_log_names_every_call_in_order)
{
        char path[] = "/tmp/vgpu-test-start-XXXXXX";
        autoclose int fd = mkstemp(path);
        autofree char *text = NULL;
        char wanted[128];
        int count;

        CHECK(fd >= 0);
        setenv("VGPU_SIM_LOG", path, 1);
        sim_machine("a100-40gb", 1);
        cuDeviceGetCount(&count);
        cuInit(0);
        cuDeviceGetCount(&count);
        CHECK_EQ(file_read(path, &text), 0);
        unlink(path);
        int pid = (int)getpid();
        snprintf(wanted, sizeof wanted,
                 "%d 0 cuDeviceGetCount 3\n%d 1 cuInit 0\n%d 2 cuDeviceGetCount 0\n", pid, pid,
                 pid);
        CHECK_STR(text, wanted);
}

int main(void)
{
        return RUN(CASE(without_a_machine_there_is_no_device),
                   CASE(a_path_where_nothing_is_means_no_device),
                   CASE(a_file_that_is_no_machine_is_refused), CASE(flags_must_be_zero),
                   CASE(cuinit_may_be_called_again), CASE(before_cuinit_calls_are_refused),
                   CASE(the_version_is_known_before_cuinit),
                   CASE(a_child_of_an_initialised_process_is_refused),
                   CASE(a_child_forked_before_cuinit_is_free),
                   CASE(a_fault_on_demand_strikes_as_often_as_asked),
                   CASE(the_call_log_names_every_call_in_order));
}
