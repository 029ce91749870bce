/* SPDX-License-Identifier: Apache-2.0 */
/* Exported physical memory lives until its last reference is gone: the maker's, a handle's that is open
 * anywhere, an importer's. It counts on the GPU all the while. */
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "export.h"
#include "fd_pass.h"
#include "memory_fixture.h"
#include "slot.h"
#include "unit_memory.h"

#define BY_FILE CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static const CUmemAllocationProp props = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = BY_FILE,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
};
static const CUmemAccessDesc full = {
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};
static int sockets[2];

static void sockets_make(void)
{
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
}

static uint64_t gpu_bytes(void)
{
        struct unit_memory memory;

        unit_memory(sim_machine_open(), 0, &memory);
        return memory.used_bytes;
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

static int exported(uint64_t bytes, CUmemGenericAllocationHandle *ret_handle)
{
        int fd = -1;

        GOOD(cuMemCreate(ret_handle, bytes, &props, 0));
        GOOD(cuMemExportToShareableHandle(&fd, *ret_handle, BY_FILE, 0));
        return fd;
}

SIM_TEST(an_open_handle_keeps_what_was_released)
{
        CUmemGenericAllocationHandle handle;

        one_gpu();
        int fd = exported(10 * MIB, &handle), again = dup(fd);
        CHECK_EQ(gpu_bytes(), 10 * MIB);
        GOOD(cuMemRelease(handle));
        CHECK_EQ(gpu_bytes(), 10 * MIB);
        CHECK_EQ(close(fd), 0);
        CHECK_EQ(gpu_bytes(), 10 * MIB);
        CHECK_EQ(close(again), 0);
        CHECK_EQ(gpu_bytes(), 0);
        CHECK_EQ(files_left(), 0);
}

SIM_TEST(a_handle_on_its_way_keeps_the_memory)
{
        CUmemGenericAllocationHandle handle;

        one_gpu();
        sockets_make();
        int fd = exported(10 * MIB, &handle);
        fd_send(sockets[0], fd);
        CHECK_EQ(close(fd), 0);
        GOOD(cuMemRelease(handle));
        CHECK_EQ(gpu_bytes(), 10 * MIB);
        CHECK_EQ(close(sockets[0]), 0);
        CHECK_EQ(close(sockets[1]), 0);
        CHECK_EQ(gpu_bytes(), 0);
}

SIM_TEST(a_closed_handle_keeps_nothing)
{
        CUmemGenericAllocationHandle handle;

        one_gpu();
        CHECK_EQ(close(exported(10 * MIB, &handle)), 0);
        CHECK_EQ(gpu_bytes(), 10 * MIB);
        GOOD(cuMemRelease(handle));
        CHECK_EQ(gpu_bytes(), 0);
}

SIM_TEST(two_handles_of_one_memory_count_once)
{
        CUmemGenericAllocationHandle handle;
        int second = -1;

        one_gpu();
        int fd = exported(10 * MIB, &handle);
        GOOD(cuMemExportToShareableHandle(&second, handle, BY_FILE, 0));
        GOOD(cuMemRelease(handle));
        CHECK_EQ(gpu_bytes(), 10 * MIB);
        CHECK_EQ(close(fd), 0);
        CHECK_EQ(gpu_bytes(), 10 * MIB);
        CHECK_EQ(close(second), 0);
        CHECK_EQ(gpu_bytes(), 0);
}

static int maker_that_is_killed(void)
{
        CUmemGenericAllocationHandle handle;
        CUcontext context;
        CUdeviceptr at;
        int value = 41, fd = -1;

        if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
            cuMemCreate(&handle, 4 * MIB, &props, 0) ||
            cuMemAddressReserve(&at, 4 * MIB, 0, 0, 0) || cuMemMap(at, 4 * MIB, 0, handle, 0) ||
            cuMemSetAccess(at, 4 * MIB, &full, 1) || cuMemcpyHtoD_v2(at + MIB, &value, 4) ||
            cuMemExportToShareableHandle(&fd, handle, BY_FILE, 0))
                return 1;
        fd_send(sockets[0], fd);
        kill(getpid(), SIGKILL);
        return 2;
}

SIM_TEST(a_killed_makers_memory_lives_with_its_importer)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;
        int value = 0;

        machine_small(1, 256 * MIB, 0);
        sockets_make();
        CHECK_EQ(sim_in_child(maker_that_is_killed), 128 + SIGKILL);
        CHECK_EQ(gpu_bytes(), 4 * MIB);
        GOOD(cuInit(0));
        context_on(0);
        int fd = fd_receive(sockets[1]);
        CHECK_EQ(gpu_bytes(), 4 * MIB);
        GOOD(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, BY_FILE));
        CHECK_EQ(close(fd), 0);
        CHECK_EQ(gpu_bytes(), 4 * MIB);
        GOOD(cuMemAddressReserve(&at, 4 * MIB, 0, 0, 0));
        GOOD(cuMemMap(at, 4 * MIB, 0, handle, 0));
        GOOD(cuMemSetAccess(at, 4 * MIB, &full, 1));
        GOOD(cuMemRelease(handle));
        GOOD(cuMemcpyDtoH_v2(&value, at + MIB, 4));
        CHECK_EQ(value, 41);
        CHECK_EQ(free_bytes(), 252 * MIB);
        GOOD(cuMemUnmap(at, 4 * MIB));
        CHECK_EQ(free_bytes(), 256 * MIB);
        CHECK_EQ(files_left(), 0);
}

SIM_TEST(a_killed_makers_memory_ends_with_an_unread_handle)
{
        machine_small(1, 256 * MIB, 0);
        sockets_make();
        CHECK_EQ(sim_in_child(maker_that_is_killed), 128 + SIGKILL);
        CHECK_EQ(gpu_bytes(), 4 * MIB);
        CHECK_EQ(close(sockets[0]), 0);
        CHECK_EQ(close(sockets[1]), 0);
        CHECK_EQ(gpu_bytes(), 0);
        CHECK_EQ(files_left(), 0);
}

SIM_TEST(a_full_gpu_counts_kept_memory_and_gets_it_back)
{
        CUmemGenericAllocationHandle handle, other;

        machine_small(1, 64 * MIB, 0);
        GOOD(cuInit(0));
        context_on(0);
        int fd = exported(40 * MIB, &handle);
        GOOD(cuMemRelease(handle));
        CHECK_EQ(cuMemCreate(&other, 40 * MIB, &props, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(close(fd), 0);
        GOOD(cuMemCreate(&other, 40 * MIB, &props, 0));
}

SIM_TEST(an_import_is_exported_on)
{
        CUmemGenericAllocationHandle handle, imported;
        int second = -1;

        one_gpu();
        int fd = exported(10 * MIB, &handle);
        GOOD(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd, BY_FILE));
        GOOD(cuMemExportToShareableHandle(&second, imported, BY_FILE, 0));
        CHECK_EQ(close(fd), 0);
        GOOD(cuMemRelease(handle));
        GOOD(cuMemRelease(imported));
        CHECK_EQ(gpu_bytes(), 10 * MIB);
        CHECK_EQ(close(second), 0);
        CHECK_EQ(gpu_bytes(), 0);
}

int main(void)
{
        return RUN(CASE(an_open_handle_keeps_what_was_released),
                   CASE(a_handle_on_its_way_keeps_the_memory), CASE(a_closed_handle_keeps_nothing),
                   CASE(two_handles_of_one_memory_count_once),
                   CASE(a_killed_makers_memory_lives_with_its_importer),
                   CASE(a_killed_makers_memory_ends_with_an_unread_handle),
                   CASE(a_full_gpu_counts_kept_memory_and_gets_it_back),
                   CASE(an_import_is_exported_on));
}
