/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by signalfd: they interrupt nothing. */
#include "loop_process.h"

#include <errno.h>
#include <sys/signalfd.h>
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

/* A blocked signal would reach us although it is ignored. */
static bool hangup_is_ignored(void)
{
        struct sigaction now;

        return sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int loop_signals_open_ends(struct loop *loop, struct loop_signals *signals)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        if (!hangup_is_ignored())
                sigaddset(&set, SIGHUP);
        return loop_signals_open(loop, signals, &set);
}

void loop_signals_close(struct loop_signals *signals)
{
        if (!signals->watch.loop)
                return;
        loop_watch_remove(&signals->watch);
        close(signals->watch.fd);
}
