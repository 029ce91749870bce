/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of memory between processes: handles, pools, and what the dead leave behind. */
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export.h"
#include "memory_fixture.h"

static int sockets[2];
enum { FLAGS = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS };

static int start(void)
{
        CUcontext context;

        return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

/* Files of the case's machine in shared memory. */
static int files_left(void)
{
        char path[EXPORT_PATH_BYTES], *name;
        int count = 0;

        export_path(sim_machine_open(), 0, path);
        *(strrchr(path, '-') + 1) = '\0';
        name = strrchr(path, '/') + 1;
        DIR *folder = opendir("/dev/shm");
        for (struct dirent *entry; (entry = readdir(folder));)
                count += !strncmp(entry->d_name, name, strlen(name));
        closedir(folder);
        return count;
}

/* Opens the handle twice, reads 41, writes 42. */
static int reader(void)
{
        CUipcMemHandle handle;
        CUdeviceptr a, again;
        size_t free_now, total;
        int value = 0;

        if (recv(sockets[1], &handle, sizeof handle, 0) != (ssize_t)sizeof handle || start())
                return 1;
        if (cuIpcOpenMemHandle_v2(&a, handle, 0) != CUDA_ERROR_INVALID_VALUE)
                return 2;
        if (cuIpcOpenMemHandle_v2(&a, handle, FLAGS) || cuIpcOpenMemHandle(&again, handle, FLAGS))
                return 3;
        if (a != again || cuMemcpyDtoH_v2(&value, a + 100, 4) || value != 41)
                return 4;
        value = 42;
        if (cuMemcpyHtoD_v2(a + 100, &value, 4) || cuMemFree_v2(a) != CUDA_ERROR_INVALID_VALUE)
                return 5;
        if (cuMemGetInfo_v2(&free_now, &total) || total - free_now != 2 * MIB)
                return 6;
        if (cuIpcCloseMemHandle(a) || cuMemcpyDtoH_v2(&value, a + 100, 4) || cuIpcCloseMemHandle(a))
                return 7;
        return cuMemcpyDtoH_v2(&value, a + 100, 4) == CUDA_ERROR_INVALID_VALUE ? 0 : 8;
}

SIM_TEST(a_handle_opens_in_another_process)
{
        CUipcMemHandle handle, same;
        CUdeviceptr other, a;
        int value = 41, status = 0;

        machine_small(1, 256 * MIB, 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
        pid_t child = fork();
        if (child == 0)
                _exit(reader());
        CHECK_EQ(start(), 0);
        GOOD(cuMemAlloc_v2(&other, 5000));
        GOOD(cuMemAlloc_v2(&a, 5000));
        GOOD(cuMemcpyHtoD_v2(a + 100, &value, 4));
        GOOD(cuIpcGetMemHandle(&handle, a));
        GOOD(cuIpcGetMemHandle(&same, a));
        CHECK(!memcmp(&handle, &same, sizeof handle));
        CHECK_EQ(cuIpcOpenMemHandle_v2(&other, handle, FLAGS), CUDA_ERROR_INVALID_CONTEXT);
        CHECK_EQ(send(sockets[0], &handle, sizeof handle, 0), sizeof handle);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        GOOD(cuMemcpyDtoH_v2(&value, a + 100, 4));
        CHECK_EQ(value, 42);
        CHECK_EQ(files_left(), 1);
        GOOD(cuMemFree_v2(a));
        GOOD(cuMemFree_v2(other));
        CHECK_EQ(files_left(), 0);
        CHECK_EQ(free_bytes(), 256 * MIB);
}

static int exporter_that_dies(void)
{
        CUipcMemHandle handle;
        CUdeviceptr a;

        if (start() || cuMemAlloc_v2(&a, 10 * MIB) || cuMemsetD8_v2(a, 1, 10 * MIB) ||
            cuIpcGetMemHandle(&handle, a))
                return 1;
        if (send(sockets[0], &handle, sizeof handle, 0) != (ssize_t)sizeof handle)
                return 2;
        kill(getpid(), SIGKILL);
        return 3;
}

SIM_TEST(a_killed_exporter_leaves_nothing)
{
        CUipcMemHandle handle;
        CUdeviceptr a;

        machine_small(1, 256 * MIB, 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
        CHECK_EQ(sim_in_child(exporter_that_dies), 128 + SIGKILL);
        CHECK_EQ(recv(sockets[1], &handle, sizeof handle, 0), sizeof handle);
        CHECK_EQ(start(), 0);
        CHECK_EQ(cuIpcOpenMemHandle_v2(&a, handle, FLAGS), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(free_bytes(), 256 * MIB);
        CHECK_EQ(files_left(), 0);
}

SIM_TEST(handles_that_are_none_are_refused)
{
        CUipcMemHandle handle;
        CUdeviceptr a;
        int plain;

        one_gpu();
        memset(&handle, 0x5a, sizeof handle);
        CHECK_EQ(cuIpcOpenMemHandle_v2(&a, handle, FLAGS), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuIpcGetMemHandle(&handle, (CUdeviceptr)(uintptr_t)&plain),
                 CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemAllocManaged(&a, 4096, CU_MEM_ATTACH_GLOBAL));
        CHECK_EQ(cuIpcGetMemHandle(&handle, a), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuIpcCloseMemHandle(a), CUDA_ERROR_INVALID_VALUE);
}

static CUmemoryPool pool_made(void)
{
        CUmemPoolProps props = {
                .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
        };
        CUmemoryPool pool;

        GOOD(cuMemPoolCreate(&pool, &props));
        return pool;
}

SIM_TEST(a_pool_pointer_can_be_shared)
{
        CUmemPoolPtrExportData data;
        CUmemoryPool pool, imported;
        CUdeviceptr a, b;
        int fd = -1, value = 7, back = 0;

        one_gpu();
        pool = pool_made();
        GOOD(cuMemAllocFromPoolAsync(&a, 3 * MIB, pool, NULL));
        GOOD(cuMemcpyHtoD_v2(a + 2 * MIB, &value, 4));
        GOOD(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                              0));
        GOOD(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        GOOD(cuMemPoolExportPointer(&data, a));
        GOOD(cuMemPoolImportPointer(&b, imported, &data));
        GOOD(cuMemcpyDtoH_v2(&back, b + 2 * MIB, 4));
        CHECK_EQ(back, 7);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 8, imported, NULL), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemFreeAsync(b, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(cuMemcpyDtoH_v2(&back, b, 4), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemPoolDestroy(imported));
}

SIM_TEST(a_pool_imports_its_own_pointers_only)
{
        CUmemPoolPtrExportData data;
        CUmemoryPool pool, other, imported;
        CUdeviceptr a, b;
        int fd = -1;

        one_gpu();
        pool = pool_made();
        other = pool_made();
        GOOD(cuMemAllocFromPoolAsync(&a, MIB, pool, NULL));
        GOOD(cuMemPoolExportPointer(&data, a));
        GOOD(cuMemPoolExportToShareableHandle(&fd, other, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                              0));
        GOOD(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        CHECK_EQ(cuMemPoolImportPointer(&b, imported, &data), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
        return RUN(CASE(a_handle_opens_in_another_process), CASE(a_killed_exporter_leaves_nothing),
                   CASE(handles_that_are_none_are_refused), CASE(a_pool_pointer_can_be_shared),
                   CASE(a_pool_imports_its_own_pointers_only));
}
