/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by signalfd, children by pidfd: neither interrupts anything. */
#include "loop_process.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "list.h"
#include "scope.h"

static void on_signal_event(struct loop_watch *watch, uint32_t events)
{
        struct loop_signals *signals = container_of(watch, struct loop_signals, watch);
        struct signalfd_siginfo info;

        (void)events;
        if (read(watch->fd, &info, sizeof info) == sizeof info)
                signals->on_signal(signals, (int)info.ssi_signo);
}

int loop_signals_open(struct loop *loop, struct loop_signals *signals, const sigset_t *set)
{
        autoclose int fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
        int r;

        if (fd < 0 || sigprocmask(SIG_BLOCK, set, NULL) < 0)
                return -errno;
        signals->watch.on_event = on_signal_event;
        r = loop_watch_add(loop, &signals->watch, fd, EPOLLIN);
        if (r == 0)
                (void)steal_fd(fd);
        return r;
}

void loop_signals_close(struct loop_signals *signals)
{
        if (!signals->watch.loop)
                return;
        loop_watch_remove(&signals->watch);
        close(signals->watch.fd);
}

static void on_child_event(struct loop_watch *watch, uint32_t events)
{
        struct loop_child *child = container_of(watch, struct loop_child, watch);
        siginfo_t info = { 0 };
        int status = 0;

        (void)events;
        if (waitid(P_PIDFD, (id_t)watch->fd, &info, WEXITED | WNOHANG) == 0) {
                if (info.si_pid == 0)
                        return;
                status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
                                                    : W_EXITCODE(0, info.si_status);
        }
        loop_child_forget(child);
        child->on_exit(child, status);
}

int loop_child_watch(struct loop *loop, struct loop_child *child, pid_t pid)
{
        autoclose int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        int r;

        if (fd < 0)
                return -errno;
        child->watch.on_event = on_child_event;
        r = loop_watch_add(loop, &child->watch, fd, EPOLLIN);
        if (r == 0)
                (void)steal_fd(fd);
        return r;
}

void loop_child_forget(struct loop_child *child)
{
        if (!child->watch.loop)
                return;
        loop_watch_remove(&child->watch);
        close(child->watch.fd);
}
