/* SPDX-License-Identifier: Apache-2.0 */
/* What a process can do no more once it is confined, tried in children. */
#include "confinement.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static const struct call_row few[] = {
        CALL(exit_group),
        CALL(exit),
        CALL(write),
        CALL(rt_sigprocmask),
        CALL(munmap),
        CALL(madvise),
        CALL(futex),
        CALL(rseq),
        CALL(set_robust_list),
        CALL(capget),
        CALL_IF(prctl, EQUAL, 0, PR_GET_NO_NEW_PRIVS),
        CALL_IF(prctl, EQUAL, 0, PR_CAPBSET_READ),
        CALL_IF(socket, EQUAL, 0, AF_UNIX),
        CALL_IF(clone, WITH, 0, CLONE_THREAD),
        CALL_IF(getpriority, WITHOUT, 0, PRIO_PGRP),
        CALL_END,
};
static const struct call_row more[] = {
        CALL_IF(socket, EQUAL, 0, AF_INET),
        CALL(mmap),
        CALL(mprotect),
        CALL_END,
};
static const struct call_row *const tables[] = { few, more, NULL };
static const struct confinement nothing = { .tables = tables };

static void enter(const struct confinement *confinement)
{
        struct err e = { 0 };

        if (confinement_enter(confinement, &e) == 0)
                return;
        fprintf(stderr, "%s\n", e.text);
        _exit(99);
}

/* What the child ends with: its status, or −signal. */
static int child_run(int (*body)(void))
{
        const pid_t child = fork();
        int status;

        if (child == 0)
                _exit(body());
        assert_int_equal(waitpid(child, &status, 0), child);
        return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int error_of(long result)
{
        return result < 0 ? errno : 0;
}

static int without_a_row(void)
{
        enter(&nothing);
        return error_of(syscall(SYS_getpgid)) == ENOSYS &&
                               error_of(syscall(SYS_unshare, 0)) == ENOSYS &&
                               error_of(syscall(SYS_execve, "/bin/true", NULL, NULL)) == ENOSYS
                       ? 0
                       : 1;
}

TEST(a_call_without_a_row_fails_as_where_the_kernel_has_none)
{
        CHECK_EQ(child_run(without_a_row), 0);
}

static int by_arguments(void)
{
        enter(&nothing);
        if (error_of(socket(AF_UNIX, SOCK_STREAM, 0)) || error_of(socket(AF_INET, SOCK_STREAM, 0)))
                return 1;
        if (error_of(socket(AF_NETLINK, SOCK_RAW, 0)) != EPERM)
                return 2;
        if (error_of(syscall(SYS_getpriority, PRIO_PROCESS, 0)) ||
            error_of(syscall(SYS_getpriority, PRIO_PGRP, 0)) != EPERM)
                return 3;
        return 0;
}

TEST(arguments_decide_by_rows_of_all_tables)
{
        CHECK_EQ(child_run(by_arguments), 0);
}

#ifndef VGPU_SANITIZED /* LSan makes a process */
static void *thread_end(void *argument)
{
        return argument;
}

static int threads_only(void)
{
        pthread_t thread;

        enter(&nothing);
        if (pthread_create(&thread, NULL, thread_end, NULL) != 0 || pthread_join(thread, NULL) != 0)
                return 1;
        return error_of(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)) == EPERM ? 0 : 2;
}

TEST(threads_are_made_and_processes_are_not)
{
        CHECK_EQ(child_run(threads_only), 0);
}
#endif

static bool capabilities_are(uint64_t wanted)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

        if (syscall(SYS_capget, &header, sets) < 0)
                return false;
        return sets[0].effective == (uint32_t)wanted && sets[0].permitted == (uint32_t)wanted &&
               !sets[1].effective && !sets[1].permitted && !sets[0].inheritable;
}

static int no_capability(void)
{
        const bool is_root = getuid() == 0;

        enter(&nothing);
        if (!capabilities_are(0) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
                return 1;
        return is_root && prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0 ? 2 : 0;
}

TEST(nothing_is_left_of_root_but_its_files)
{
        CHECK_EQ(child_run(no_capability), 0);
}

static int one_capability(void)
{
        const struct confinement one = { .tables = tables, .capabilities = 1ull << CAP_KILL };
        const uint64_t kept = getuid() == 0 ? one.capabilities : 0;

        enter(&one);
        return capabilities_are(kept) ? 0 : 1;
}

TEST(a_capability_that_is_named_stays)
{
        CHECK_EQ(child_run(one_capability), 0);
}

static int twice(void)
{
        enter(&nothing);
        return error_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL)) == ENOSYS ? 0 : 1;
}

TEST(a_confinement_is_not_changed_again)
{
        CHECK_EQ(child_run(twice), 0);
}

#ifdef __x86_64__
static int another_way(void)
{
        long result;

        enter(&nothing);
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory"); /* getpid() of i386 */
        return 1;
}

TEST(calls_in_the_way_of_another_architecture_end_the_process)
{
        CHECK_EQ(child_run(another_way), -SIGSYS);
}
#endif

TEST(a_filter_too_long_for_its_buffer_is_none)
{
        struct sock_filter filter[256];

        CHECK(confinement_filter(tables, filter, 256) > 0);
        CHECK_EQ(confinement_filter(tables, filter, 10), 0);
}

int main(void)
{
        return RUN(CASE(a_call_without_a_row_fails_as_where_the_kernel_has_none),
                   CASE(arguments_decide_by_rows_of_all_tables),
#ifndef VGPU_SANITIZED
                   CASE(threads_are_made_and_processes_are_not),
#endif
                   CASE(nothing_is_left_of_root_but_its_files),
                   CASE(a_capability_that_is_named_stays), CASE(a_confinement_is_not_changed_again),
#ifdef __x86_64__
                   CASE(calls_in_the_way_of_another_architecture_end_the_process),
#endif
                   CASE(a_filter_too_long_for_its_buffer_is_none));
}
