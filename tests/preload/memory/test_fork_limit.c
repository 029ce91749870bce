/* SPDX-License-Identifier: Apache-2.0 */
/* Processes made by fork, and memory that processes share: one charge each. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static int child_end(void)
{
        int status = -1;

        while (wait(&status) > 0)
                continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* A child whose parent never used CUDA is a process like others, with a slot of its own. */
SIM_TEST(a_child_of_a_parent_without_cuda)
{
        CUdeviceptr address;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        int go[2], done[2];
        char byte;
        CHECK_EQ(pipe(go), 0);
        CHECK_EQ(pipe(done), 0);
        if (fork() == 0) {
                guest_start(NULL);
                int bad = cuMemAlloc_v2(&address, 60 * MIB) != CUDA_SUCCESS;
                bad |= write(done[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1;
                _exit(bad);
        }
        CHECK_EQ(read(done[0], &byte, 1), 1);
        guest_start(NULL);
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 40 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 100 * MIB);
        CHECK_EQ(write(go[1], "x", 1), 1);
        CHECK_EQ(child_end(), 0);
        usleep(2000); /* after a refusal the dead are reaped again in 1 ms */
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
}

/* The driver refuses a child of a parent that did; whatever it tries, the parent's charges stand. */
SIM_TEST(a_child_of_a_parent_with_cuda_disturbs_nothing)
{
        CUdeviceptr address, other;
        CUcontext context;
        size_t free_bytes, total_bytes;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
        if (fork() == 0) {
                int bad = cuInit(0) != CUDA_ERROR_NOT_INITIALIZED;
                bad |= (cuMemAlloc_v2(&other, 4096) != CUDA_ERROR_NOT_INITIALIZED) << 1;
                bad |= (cuMemFree_v2(address) != CUDA_ERROR_NOT_INITIALIZED) << 2;
                bad |= (cuMemAllocAsync(&other, 4096, NULL) != CUDA_ERROR_NOT_INITIALIZED) << 3;
                bad |= (cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_ERROR_NOT_INITIALIZED)
                       << 4;
                bad |= (cuCtxCreate_v2(&context, 0, 0) != CUDA_ERROR_NOT_INITIALIZED) << 5;
                bad |= (cuCtxDestroy_v2(context) == CUDA_SUCCESS) << 6;
                _exit(bad);
        }
        CHECK_EQ(child_end(), 0);
        CHECK_EQ(guest_held(), 60 * MIB);
        guest_check_charges(100 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&other, 60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(cuMemAlloc_v2(&other, 100 * MIB), CUDA_SUCCESS);
}

/* Opened by another process, memory is charged to the one that made it, once. */
static int importer(int from, int to, bool is_old)
{
        CUipcMemHandle handle;
        CUdeviceptr address;
        char byte;

        guest_start(NULL);
        if (read(from, &handle, sizeof handle) != sizeof handle)
                return 1;
        uint64_t before = guest_held();
        CUresult r = is_old ? cuIpcOpenMemHandle(&address, handle, 1)
                            : cuIpcOpenMemHandle_v2(&address, handle, 1);
        if (r != CUDA_SUCCESS || guest_held() != before)
                return 2;
        /* Not its to free. */
        if (cuMemFree_v2(address) == CUDA_SUCCESS || guest_held() != before)
                return 3;
        if (cuIpcCloseMemHandle(address) != CUDA_SUCCESS || guest_held() != before)
                return 4;
        if (cuMemAlloc_v2(&address, 60 * MIB) != CUDA_ERROR_OUT_OF_MEMORY)
                return 5;
        if (write(to, "x", 1) != 1 || read(from, &byte, 1) != 1)
                return 6;
        /* The one that made it has freed it. */
        return cuMemAlloc_v2(&address, 100 * MIB) == CUDA_SUCCESS ? 0 : 7;
}

static void check_import(bool is_old)
{
        CUipcMemHandle handle;
        CUdeviceptr address;
        int there[2], back[2];
        char byte;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        CHECK_EQ(pipe(there), 0);
        CHECK_EQ(pipe(back), 0);
        if (fork() == 0) {
                close(there[1]);
                close(back[0]);
                _exit(importer(there[0], back[1], is_old));
        }
        close(back[1]);
        guest_start(NULL);
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
        CHECK_EQ(write(there[1], &handle, sizeof handle), sizeof handle);
        ssize_t answered = read(back[0], &byte, 1);
        CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
        CHECK_EQ(write(there[1], "x", 1), 1);
        CHECK_EQ(child_end(), 0);
        CHECK_EQ(answered, 1);
}

SIM_TEST(memory_of_another_process)
{
        check_import(false);
}

SIM_TEST(memory_of_another_process_by_the_first_version)
{
        check_import(true);
}

int main(void)
{
        return RUN(CASE(a_child_of_a_parent_without_cuda),
                   CASE(a_child_of_a_parent_with_cuda_disturbs_nothing),
                   CASE(memory_of_another_process),
                   CASE(memory_of_another_process_by_the_first_version));
}
