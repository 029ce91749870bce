/* SPDX-License-Identifier: Apache-2.0 */
/* Ways with more than one process: one that changes another, one that lends its memory, descriptors that are
 * passed on, and a dynamic loader that was changed. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "evade.h"
#include "evade_jump.h"
#include "share_layout.h"

#define REGION "/etc/vgpu/region"

/* Writes a jump to the driver's function over libvgpu.so's, in the stopped process. */
static void tracee_change(pid_t pid, const void *at)
{
        unsigned char code[JUMP_BYTES + sizeof(long)] = { 0 };
        const size_t bytes = jump_make(driver_own("cuMemAlloc_v2"), code);

        for (size_t i = 0; i < bytes; i += sizeof(long)) {
                long word;
                memcpy(&word, code + i, sizeof word);
                ptrace(PTRACE_POKETEXT, pid, (const char *)at + i, word);
        }
}

/* Never returns: the parent of the program that goes on. */
static void tracer_run(pid_t pid, const struct driver_calls *calls)
{
        int status;

        while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
                const int number = WSTOPSIG(status);
                if (number == SIGSTOP)
                        tracee_change(pid, (const void *)calls->alloc);
                ptrace(PTRACE_CONT, pid, NULL, number == SIGSTOP ? 0 : number);
        }
        _exit(0);
}

static bool open_traced(struct driver_calls *calls)
{
        if (!calls_plain(calls))
                return false;
        const pid_t pid = fork();
        if (pid > 0)
                tracer_run(pid, calls);
        return pid == 0 && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? true : barred("ptrace");
}

static bool stop_here(struct driver_calls *calls)
{
        (void)calls;
        raise(SIGSTOP);
        return true;
}

/* What the two say to each other: where the share is mapped, and what came of writing there. */
static struct {
        uintptr_t share;
        int error, is_ready, is_done;
} volatile *told;

static void sibling_write(pid_t pid)
{
        const uint64_t more = UINT64_C(8) << 30;
        int status;

        while (!told->is_ready)
                usleep(1000);
        const struct iovec from = { (void *)&more, sizeof more };
        const struct iovec to = { (char *)told->share + offsetof(struct share_file,
                                                                 copies[0].devices[0].limit_bytes),
                                  sizeof more };
        told->error = process_vm_writev(pid, &from, 1, &to, 1, 0) < 0 ? errno : 0;
        told->is_done = 1;
        waitpid(pid, &status, 0);
        _exit(0);
}

static bool open_written(struct driver_calls *calls)
{
        told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        const pid_t pid = fork();
        if (pid > 0)
                sibling_write(pid);
        return pid == 0 ? calls_plain(calls) : barred("fork");
}

static bool wait_written(struct driver_calls *calls)
{
        size_t bytes;

        (void)calls;
        told->share = mapping_find(SHARE_PATH, &bytes);
        told->is_ready = 1;
        while (!told->is_done)
                usleep(1000);
        errno = told->error;
        return told->error ? barred("process_vm_writev") : true;
}

/* The allocation is made by a process that shares all memory and is not a thread: another pid, no slot. */
static struct {
        struct driver_calls calls;
        unsigned long long *address;
        size_t bytes;
        int result;
} lent;

static int lent_main(void *argument)
{
        (void)argument;
        lent.result = lent.calls.alloc(lent.address, lent.bytes);
        _exit(0);
}

static int alloc_in_child(unsigned long long *address, size_t bytes)
{
        static char stack[1 << 20] __attribute__((aligned(16)));
        int status;

        lent.address = address;
        lent.bytes = bytes;
        const pid_t pid =
                clone(lent_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
                return 999;
        return lent.result;
}

static bool lend(struct driver_calls *calls)
{
        lent.calls = *calls;
        calls->alloc = alloc_in_child;
        return true;
}

/* A child that the driver's own fork handler has not seen yet. */
static int alloc_in_fork(unsigned long long *address, size_t bytes)
{
        int status = 0;
        const pid_t pid = fork();

        if (pid == 0) {
                const int r = lent.calls.alloc(address, bytes);
                _exit(r < 255 ? r : 255);
        }
        return pid > 0 && waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 999;
}

static bool fork_late(struct driver_calls *calls)
{
        lent.calls = *calls;
        calls->alloc = alloc_in_fork;
        return true;
}

/* Neither others' tools nor a name that looks like the end of a line in /proc make it dead to others. */
static bool hide(struct driver_calls *calls)
{
        (void)calls;
        prctl(PR_SET_DUMPABLE, 0);
        prctl(PR_SET_NAME, ") Z 0 0 0 \033[2J");
        return true;
}

static bool own_copy(const char *path)
{
        static char text[1 << 20];
        const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        const int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
        ssize_t bytes;

        if (from < 0 || to < 0)
                return false;
        while ((bytes = read(from, text, sizeof text)) > 0)
                if (write(to, text, (size_t)bytes) != bytes)
                        return false;
        close(from);
        return close(to) == 0;
}

/* A program with rights of its file: the dynamic linker does not believe its environment. */
static bool open_set_user(struct driver_calls *calls)
{
        static const char path[] = "/tmp/set-user";

        if (getauxval(AT_SECURE))
                return calls_plain(calls);
        if (!own_copy(path) || chmod(path, 04755) < 0 || setresuid(1000, 1000, 1000) < 0)
                return barred("a file of its owner's rights");
        execl(path, path, evade_arguments[1], evade_arguments[2], NULL);
        return barred("exec");
}

static bool open_capable(struct driver_calls *calls)
{
        static const char path[] = "/tmp/capable";
        const uint32_t words[] = { 0x02000001 /* version 2, effective */, 1u << 13, 0, 0, 0 };

        if (getauxval(AT_SECURE))
                return calls_plain(calls);
        if (!own_copy(path) || setxattr(path, "security.capability", words, sizeof words, 0) < 0 ||
            setresuid(1000, 1000, 1000) < 0)
                return barred("a file with capabilities");
        execl(path, path, evade_arguments[1], evade_arguments[2], NULL);
        return barred("exec");
}

/* Descriptors by a socket that has no file: containers of one network namespace meet there. */
static struct sockaddr_un meeting(void)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const char *name = getenv("MEETING");

        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "vgpu-%s", name ? name : "");
        return address;
}

static bool descriptor_give(struct driver_calls *calls)
{
        const struct sockaddr_un address = meeting();
        const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int region = open(REGION, O_RDWR | O_CLOEXEC);
        union {
                struct cmsghdr head;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
        struct iovec text = { (char[]){ "x" }, 1 };
        const struct msghdr message = { .msg_iov = &text,
                                        .msg_iovlen = 1,
                                        .msg_control = control.bytes,
                                        .msg_controllen = sizeof control.bytes };

        (void)calls;
        memcpy(CMSG_DATA(&control.head), &region, sizeof region);
        if (bind(server, (const struct sockaddr *)&address, sizeof address) < 0 ||
            listen(server, 1) < 0)
                return barred("bind");
        const int peer = accept(server, NULL, NULL);
        return sendmsg(peer, &message, 0) == 1 ? true : barred("sendmsg");
}

static int descriptor_receive(void)
{
        const struct sockaddr_un address = meeting();
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char control[CMSG_SPACE(sizeof(int))], letter;
        struct iovec text = { &letter, 1 };
        struct msghdr message = { .msg_iov = &text,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof control };
        int given = -1;

        for (int i = 0;
             i < 1000 && connect(fd, (const struct sockaddr *)&address, sizeof address) < 0; i++)
                usleep(10000);
        if (recvmsg(fd, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
                memcpy(&given, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof given);
        return given;
}

/* The other container's region in the place of this one's. */
static bool descriptor_take(struct driver_calls *calls)
{
        size_t bytes;
        const uintptr_t region = mapping_find(REGION, &bytes);
        const int fd = descriptor_receive();

        (void)calls;
        return region && fd >= 0 &&
                               mmap((void *)region, bytes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED
                       ? true
                       : barred("mmap");
}

/* A copy of the dynamic loader that reads another list of preloads; the program begins anew under it. */
static bool loader_changed(struct driver_calls *calls)
{
        static const char list[] = "/etc/ld.so.preload", copy[] = "/tmp/own-loader";
        const char *const names[] = { "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1" };
        static char text[1 << 20];
        ssize_t bytes = -1;

        (void)calls;
        for (unsigned i = 0; i < 2 && bytes < 0; i++) {
                const int from = open(names[i], O_RDONLY | O_CLOEXEC);
                bytes = from < 0 ? -1 : read(from, text, sizeof text);
        }
        char *at = bytes > 0 ? memmem(text, (size_t)bytes, list, sizeof list) : NULL;
        const int to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
        if (!at || to < 0)
                return barred("the loader's file");
        at[1] = 'x';
        if (write(to, text, (size_t)bytes) != bytes || close(to) < 0)
                return barred("the loader's copy");
        execl(copy, copy, "/bin/evade", "plain", evade_arguments[2], NULL);
        return barred("exec");
}

const struct way ways_processes[] = {
        { .name = "traced", .open = open_traced, .change = stop_here },
        { .name = "written", .open = open_written, .change = wait_written },
        { .name = "lent", .open = calls_plain, .change = lend },
        { .name = "forked", .open = calls_plain, .change = fork_late },
        { .name = "hidden", .open = calls_plain, .change = hide },
        { .name = "set-user", .open = open_set_user },
        { .name = "capable", .open = open_capable },
        { .name = "give", .open = calls_plain, .change = descriptor_give },
        { .name = "take", .open = calls_plain, .change = descriptor_take },
        { .name = "loader-changed", .open = loader_changed },
        { 0 },
};
