/* SPDX-License-Identifier: Apache-2.0 */
/* loop_process: signals to us and the end of our children, as events of the loop. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "loop.h"

struct loop_signals {
        struct loop_watch watch;
        void (*on_signal)(struct loop_signals *signals, int number);
};

/* Takes the signals of the set away from their handlers; before there are other threads. */
int loop_signals_open(struct loop *loop, struct loop_signals *signals, const sigset_t *set);
void loop_signals_close(struct loop_signals *signals);

struct loop_child {
        struct loop_watch watch;
        /* Once, when it is gone and reaped; status as wait(2) has it. */
        void (*on_exit)(struct loop_child *child, int status);
};

/* Waits for a child of ours. -ESRCH: there is none such. */
int loop_child_watch(struct loop *loop, struct loop_child *child, pid_t pid);
void loop_child_forget(struct loop_child *child);
