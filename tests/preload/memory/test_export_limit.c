/* SPDX-License-Identifier: Apache-2.0 */
/* Exported memory is charged until nobody holds it: released or not, whoever dies, and however a handle of it
 * travels. The judge is the GPU's own figure. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd_pass.h"
#include "guest.h"

#define BY_FILE CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define LIMIT   "100m"

static const CUmemAllocationProp physical = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = BY_FILE,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
};

/* The container's processes find out when they ask, which costs a moment. */
static void check_held(uint64_t bytes)
{
        for (unsigned i = 0; i < 400; i++) {
                if (guest_held() == bytes && guest_device_bytes(0) == bytes)
                        break;
                usleep(5000);
        }
        CHECK_EQ(guest_held(), bytes);
        CHECK_EQ(guest_device_bytes(0), bytes);
}

static CUresult make(uint64_t bytes, CUmemGenericAllocationHandle *ret_handle)
{
        return cuMemCreate(ret_handle, bytes, &physical, 0);
}

static int exported(CUmemGenericAllocationHandle handle)
{
        int fd = -1;

        CHECK_EQ(cuMemExportToShareableHandle(&fd, handle, BY_FILE, 0), CUDA_SUCCESS);
        return fd;
}

static CUresult import(int fd, CUmemGenericAllocationHandle *ret_handle)
{
        return cuMemImportFromShareableHandle(ret_handle, (void *)(intptr_t)fd, BY_FILE);
}

static void check_full(void)
{
        CUmemGenericAllocationHandle handle;

        CHECK_EQ(make(60 * MIB, &handle), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(guest_device_bytes(0) <= 100 * MIB);
}

SIM_TEST(what_was_released_is_charged_while_its_handle_is_open)
{
        CUmemGenericAllocationHandle handle;

        guest_machine(1);
        guest_start(LIMIT);
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        int fd = exported(handle), again = dup(fd);
        check_held(60 * MIB);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        close(fd);
        check_full();
        check_held(60 * MIB);
        close(again);
        usleep(2000); /* after a refusal it is asked again in 1 ms */
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        check_held(60 * MIB);
}

/* What is not prevented: whoever has the handle can take the lock off it. The page of attempts says so. The simulated
 * driver goes by a lock on the same file, and lets go; NVIDIA's does not. */
SIM_TEST(a_handle_whose_lock_was_removed_is_not_charged)
{
        struct flock whole = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
        CUmemGenericAllocationHandle handle;

        guest_machine(1);
        guest_start(LIMIT);
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        int fd = exported(handle);
        CHECK_EQ(fcntl(fd, F_OFD_SETLK, &whole), 0);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 60 * MIB);
        close(fd);
}

SIM_TEST(handles_that_are_kept_fill_the_limit_and_no_more)
{
        CUmemGenericAllocationHandle handle;
        int fds[10];
        unsigned made = 0;

        guest_machine(1);
        guest_start(LIMIT);
        while (made < 10 && make(20 * MIB, &handle) == CUDA_SUCCESS) {
                fds[made++] = exported(handle);
                CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        }
        CHECK_EQ(made, 5);
        check_held(100 * MIB);
        close(fds[1]);
        close(fds[3]);
        check_held(60 * MIB);
        CHECK_EQ(make(40 * MIB, &handle), CUDA_SUCCESS);
}

SIM_TEST(a_closed_handle_costs_nothing)
{
        CUmemGenericAllocationHandle handle;

        guest_machine(1);
        guest_start(LIMIT);
        for (unsigned i = 0; i < 20; i++) {
                CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
                close(exported(handle));
                CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
                CHECK_EQ(guest_held(), 0);
        }
}

/* A maker of 60 MiB, of which it sends the handle, and of 20 MiB that are its own. It waits to be killed. */
static struct maker {
        pid_t pid;
        int socket; /* where the handle comes out */
} maker_start(void)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr own;
        int sockets[2];

        setenv("VGPU_MEMORY_LIMIT", LIMIT, 1);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
        pid_t pid = fork();
        if (pid == 0) {
                close(sockets[1]);
                guest_start(NULL);
                if (make(60 * MIB, &handle) || cuMemAlloc_v2(&own, 20 * MIB))
                        _exit(1);
                int fd = exported(handle);
                fd_send(sockets[0], fd);
                pause();
        }
        close(sockets[0]);
        return (struct maker){ pid, sockets[1] };
}

static void maker_kill(struct maker maker)
{
        int status = 0;

        kill(maker.pid, SIGKILL);
        CHECK_EQ(waitpid(maker.pid, &status, 0), maker.pid);
        CHECK(WIFSIGNALED(status));
}

SIM_TEST(a_killed_maker_leaves_the_charge_to_an_open_handle)
{
        CUmemGenericAllocationHandle handle;

        guest_machine(1);
        struct maker maker = maker_start();
        int fd = fd_receive(maker.socket);
        CHECK(fd >= 0);
        maker_kill(maker);
        guest_start(LIMIT);
        check_held(60 * MIB);
        check_full();
        close(fd);
        usleep(2000);
        CHECK_EQ(make(100 * MIB, &handle), CUDA_SUCCESS);
}

SIM_TEST(a_killed_maker_leaves_the_charge_to_a_handle_on_its_way)
{
        char byte;

        guest_machine(1);
        struct maker maker = maker_start();
        CHECK_EQ(recv(maker.socket, &byte, 1, MSG_PEEK), 1);
        maker_kill(maker);
        guest_start(LIMIT);
        check_held(60 * MIB);
        check_full();
        close(maker.socket);
        check_held(0);
}

SIM_TEST(a_killed_maker_leaves_the_charge_to_an_importer)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;

        guest_machine(1);
        struct maker maker = maker_start();
        int fd = fd_receive(maker.socket);
        guest_start(LIMIT);
        CHECK_EQ(import(fd, &handle), CUDA_SUCCESS);
        close(fd);
        check_held(80 * MIB);
        maker_kill(maker);
        check_held(60 * MIB);
        check_full();
        CHECK_EQ(cuMemAddressReserve(&at, 60 * MIB, 0, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemMap(at, 60 * MIB, 0, handle, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        check_held(60 * MIB);
        CHECK_EQ(cuMemUnmap(at, 60 * MIB), CUDA_SUCCESS);
        check_held(0);
        CHECK_EQ(make(100 * MIB, &handle), CUDA_SUCCESS);
}

/* Imports what comes, closes the handle, says so, and waits to be killed. */
static pid_t importer_start(int from, int to)
{
        pid_t pid = fork();

        if (pid == 0) {
                CUmemGenericAllocationHandle handle;
                guest_start(NULL);
                int fd = fd_receive(from);
                if (import(fd, &handle))
                        _exit(1);
                close(fd);
                close(from); /* others' handles may be on their way there */
                if (write(to, "x", 1) != 1)
                        _exit(2);
                pause();
        }
        return pid;
}

SIM_TEST(a_makers_release_leaves_the_charge_while_an_importer_lives)
{
        CUmemGenericAllocationHandle handle;
        int sockets[2], done[2];
        pid_t pids[2];
        char byte;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", LIMIT, 1);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
        CHECK_EQ(pipe(done), 0);
        for (unsigned i = 0; i < 2; i++)
                pids[i] = importer_start(sockets[1], done[1]);
        guest_start(LIMIT);
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        int fd = exported(handle);
        for (unsigned i = 0; i < 2; i++) {
                fd_send(sockets[0], fd);
                CHECK_EQ(read(done[0], &byte, 1), 1);
        }
        close(fd);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        check_held(60 * MIB);
        for (unsigned i = 0; i < 2; i++) {
                check_full();
                check_held(60 * MIB);
                kill(pids[i], SIGKILL);
                CHECK_EQ(waitpid(pids[i], NULL, 0), pids[i]);
        }
        check_held(0);
        CHECK_EQ(make(100 * MIB, &handle), CUDA_SUCCESS);
}

SIM_TEST(an_import_of_its_own_memory_keeps_the_charge)
{
        CUmemGenericAllocationHandle handle, imported, twice;

        guest_machine(1);
        guest_start(LIMIT);
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        int fd = exported(handle);
        CHECK_EQ(import(fd, &imported), CUDA_SUCCESS);
        CHECK_EQ(import(fd, &twice), CUDA_SUCCESS);
        close(fd);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        check_held(60 * MIB);
        CHECK_EQ(cuMemRelease(imported), CUDA_SUCCESS);
        check_held(60 * MIB);
        int on = exported(twice);
        CHECK_EQ(cuMemRelease(twice), CUDA_SUCCESS);
        check_full();
        check_held(60 * MIB);
        close(on);
        check_held(0);
}

/* Released memory that others hold is in no figure of this process: comparing must not give it back. */
SIM_TEST(a_comparison_with_the_drivers_figure_changes_nothing)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr address;

        guest_machine(1);
        guest_start(LIMIT);
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        int fd = exported(handle);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        for (unsigned i = 0; i < 40; i++) { /* compared twice a second, and before refusals */
                CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
                CHECK_EQ(cuMemAlloc_v2(&address, 4 * MIB), CUDA_SUCCESS);
                CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
                usleep(50000);
        }
        check_held(60 * MIB);
        close(fd);
        check_held(0);
}

/* The other container's maker may end at any time: what is imported must fit here, too. */
SIM_TEST(memory_of_another_container_is_charged_to_both)
{
        CUmemGenericAllocationHandle handle, other;
        char path[256];

        guest_machine(1);
        struct maker maker = maker_start();
        int fd = fd_receive(maker.socket);
        snprintf(path, sizeof path, "%s-other", getenv("VGPU_REGION"));
        setenv("VGPU_REGION", path, 1);
        guest_start(LIMIT);
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(import(fd, &handle), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 60 * MIB);
        CHECK_EQ(import(fd, &other), CUDA_ERROR_OUT_OF_MEMORY);
        close(fd);
        maker_kill(maker);
        check_held(60 * MIB);
        check_full();
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        check_held(0);
        unlink(path);
}

/* The child has the parent's descriptors: a handle among them keeps the memory, and nothing else does. */
SIM_TEST(a_forked_child_keeps_what_its_handles_keep)
{
        CUmemGenericAllocationHandle handle, imported;

        guest_machine(1);
        guest_start(LIMIT);
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        int fd = exported(handle);
        CHECK_EQ(import(fd, &imported), CUDA_SUCCESS);
        pid_t pid = fork();
        if (pid == 0) {
                pause();
                _exit(0);
        }
        close(fd);
        CHECK_EQ(cuMemRelease(imported), CUDA_SUCCESS);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        check_held(60 * MIB);
        kill(pid, SIGKILL);
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
        check_held(0);
}

SIM_TEST(without_a_limit_nothing_is_followed)
{
        CUmemGenericAllocationHandle handle, imported;

        guest_machine(1);
        guest_start(NULL);
        CHECK_EQ(make(60 * MIB, &handle), CUDA_SUCCESS);
        int fd = exported(handle);
        CHECK_EQ(import(fd, &imported), CUDA_SUCCESS);
        close(fd);
        CHECK_EQ(cuMemRelease(imported), CUDA_SUCCESS);
        CHECK_EQ(cuMemRelease(handle), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
}

int main(void)
{
        return RUN(CASE(what_was_released_is_charged_while_its_handle_is_open),
                   CASE(a_handle_whose_lock_was_removed_is_not_charged),
                   CASE(handles_that_are_kept_fill_the_limit_and_no_more),
                   CASE(a_closed_handle_costs_nothing),
                   CASE(a_killed_maker_leaves_the_charge_to_an_open_handle),
                   CASE(a_killed_maker_leaves_the_charge_to_a_handle_on_its_way),
                   CASE(a_killed_maker_leaves_the_charge_to_an_importer),
                   CASE(a_makers_release_leaves_the_charge_while_an_importer_lives),
                   CASE(an_import_of_its_own_memory_keeps_the_charge),
                   CASE(a_comparison_with_the_drivers_figure_changes_nothing),
                   CASE(memory_of_another_container_is_charged_to_both),
                   CASE(a_forked_child_keeps_what_its_handles_keep),
                   CASE(without_a_limit_nothing_is_followed));
}
