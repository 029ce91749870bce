/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of memory and processes as another process causes them. */
#include <sched.h>

#include "nvml_fixture.h"

static uint64_t used_bytes(nvmlDevice_t device)
{
        nvmlMemory_v2_t memory = { .version = NVML_VERSION_OF(nvmlMemory_v2_t, 2) };

        GOOD(nvmlDeviceGetMemoryInfo_v2(device, &memory));
        CHECK_EQ(memory.total, memory.used + memory.free + memory.reserved);
        return memory.used;
}

SIM_TEST(memory_is_total_used_free_and_reserved)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlMemory_t memory;
        nvmlBAR1Memory_t bar1;

        CHECK_EQ(used_bytes(device), 0);
        GOOD(nvmlDeviceGetMemoryInfo(device, &memory));
        CHECK_EQ(memory.total, 40960 * MIB);
        CHECK_EQ(memory.used, 622 * MIB);
        CHECK_EQ(memory.free + memory.used, memory.total);
        GOOD(nvmlDeviceGetBAR1MemoryInfo(device, &bar1));
        CHECK_EQ(bar1.bar1Total, bar1.bar1Free + bar1.bar1Used);
}

SIM_TEST(the_memory_of_another_process_is_seen_until_it_dies)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 2);
        pid_t other = neighbour(0, 100 * MIB, false);
        nvmlProcessInfo_t infos[4];
        unsigned count = 4;
        char name[256];

        CHECK_EQ(used_bytes(device), 104 * MIB);
        CHECK_EQ(used_bytes(nvml_device(1)), 0);
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
        CHECK_EQ(count, 1);
        CHECK_EQ(infos[0].pid, other);
        CHECK_EQ(infos[0].usedGpuMemory, 104 * MIB);
        CHECK_EQ(infos[0].gpuInstanceId, NVML_ID_NONE);
        GOOD(nvmlSystemGetProcessName((unsigned)other, name, sizeof name));
        CHECK(strstr(name, "test_sim_nvml_process") != NULL);
        count = 4;
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(nvml_device(1), &count, infos));
        CHECK_EQ(count, 0);
        neighbour_kill(other);
        CHECK_EQ(used_bytes(device), 0);
        count = 4;
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
        CHECK_EQ(count, 0);
        CHECK_EQ(nvmlSystemGetProcessName((unsigned)other, name, sizeof name),
                 NVML_ERROR_NOT_FOUND);
}

SIM_TEST(a_list_that_does_not_fit_says_how_long_it_is)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        pid_t first = neighbour(0, 10 * MIB, false), second = neighbour(0, 20 * MIB, false);
        nvmlProcessInfo_v1_t v1[2];
        nvmlProcessDetail_v1_t details[2];
        nvmlProcessDetailList_t list = {
                .version = NVML_VERSION_OF(nvmlProcessDetailList_t, 1),
                .numProcArrayEntries = 1,
                .procArray = details,
        };
        unsigned count = 0;

        CHECK_EQ(nvmlDeviceGetComputeRunningProcesses(device, &count, NULL),
                 NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(count, 2);
        GOOD(nvmlDeviceGetComputeRunningProcesses(device, &count, v1));
        CHECK_EQ(v1[0].usedGpuMemory + v1[1].usedGpuMemory, 38 * MIB);
        CHECK_EQ(nvmlDeviceGetRunningProcessDetailList(device, &list),
                 NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(list.numProcArrayEntries, 2);
        GOOD(nvmlDeviceGetRunningProcessDetailList(device, &list));
        CHECK(details[0].pid == (unsigned)first || details[1].pid == (unsigned)first);
        list.mode = NVML_PROCESS_MODE_GRAPHICS;
        GOOD(nvmlDeviceGetRunningProcessDetailList(device, &list));
        CHECK_EQ(list.numProcArrayEntries, 0);
        list.version = 1;
        CHECK_EQ(nvmlDeviceGetRunningProcessDetailList(device, &list),
                 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        neighbour_kill(first);
        neighbour_kill(second);
}

/* As Vulkan's and OpenGL's programs, and MPS's clients, are. */
SIM_TEST(who_draws_and_who_uses_mps_is_on_a_list_of_its_own)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        const pid_t pids[] = { neighbour(0, 10 * MIB, false), neighbour(0, 20 * MIB, false),
                               neighbour(0, 30 * MIB, false) };
        struct machine *machine = sim_machine_open();
        nvmlProcessInfo_t infos[4];

        for (unsigned i = 0; i < MACHINE_SLOTS; i++)
                for (unsigned list = 0; list < 3; list++)
                        if (machine->file->slots[i].pid == pids[list])
                                machine->file->slots[i].units[0].list = list;
        for (unsigned list = MACHINE_LIST_COMPUTE; list <= MACHINE_LIST_MPS; list++) {
                unsigned count = 4;

                GOOD(list == MACHINE_LIST_COMPUTE
                             ? nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos)
                     : list == MACHINE_LIST_GRAPHICS
                             ? nvmlDeviceGetGraphicsRunningProcesses_v3(device, &count, infos)
                             : nvmlDeviceGetMPSComputeRunningProcesses_v3(device, &count, infos));
                CHECK_EQ(count, 1);
                CHECK_EQ(infos[0].pid, pids[list]);
                CHECK_EQ(infos[0].usedGpuMemory, (14 + 10 * list) * MIB);
        }
        for (unsigned i = 0; i < 3; i++)
                neighbour_kill(pids[i]);
}

/* A neighbour that is process 1 of a pid namespace of its own; its number out here comes back. */
static pid_t neighbour_in_container(void)
{
        int ready[2], number[2];
        char byte;
        pid_t pid = 0;

        CHECK_EQ(pipe(ready), 0);
        CHECK_EQ(pipe(number), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
                /* It stays as long as the neighbour, which goes with its parent; and goes with us. */
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
                        _exit(1);
                pid = fork();
                if (pid == 0)
                        neighbour_live(0, 10 * MIB, false, ready[1]);
                close(ready[1]);
                if (write(number[1], &pid, sizeof pid) == sizeof pid)
                        waitpid(pid, NULL, 0);
                _exit(0);
        }
        close(ready[1]), close(number[1]);
        if (read(number[0], &pid, sizeof pid) != sizeof pid || read(ready[0], &byte, 1) != 1)
                return 0;
        return pid;
}

SIM_TEST(a_process_in_a_container_is_listed_by_the_number_it_has_out_here)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        pid_t inside = neighbour_in_container();
        nvmlProcessInfo_t infos[4];
        unsigned count = 4;

        if (!inside) {
                print_message("# this kernel gives no namespaces to users\n");
                return;
        }
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
        kill(inside, SIGKILL);
        CHECK_EQ(count, 1);
        CHECK_EQ(infos[0].pid, inside);
}

int main(void)
{
        return RUN(CASE(memory_is_total_used_free_and_reserved),
                   CASE(the_memory_of_another_process_is_seen_until_it_dies),
                   CASE(a_list_that_does_not_fit_says_how_long_it_is),
                   CASE(who_draws_and_who_uses_mps_is_on_a_list_of_its_own),
                   CASE(a_process_in_a_container_is_listed_by_the_number_it_has_out_here));
}
