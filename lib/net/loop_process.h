/* SPDX-License-Identifier: Apache-2.0 */
/* loop_process: signals to us, as events of the loop. */
#pragma once

#include <signal.h>

#include "loop.h"

struct loop_signals {
        struct loop_watch watch;
        void (*on_signal)(struct loop_signals *signals, int number);
};

/* Takes the signals of the set away from their handlers; before there are other threads. */
int loop_signals_open(struct loop *loop, struct loop_signals *signals, const sigset_t *set);
/* The same of the signals that end a daemon: SIGTERM, SIGINT, and SIGHUP unless it is ignored (nohup). */
int loop_signals_open_ends(struct loop *loop, struct loop_signals *signals);
void loop_signals_close(struct loop_signals *signals);
