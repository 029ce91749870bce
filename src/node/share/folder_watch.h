/* SPDX-License-Identifier: Apache-2.0 */
/* folder_watch: reports when something is made or removed in a folder, also if the folder itself comes
 * and goes; and now and then without a notice, because one can be lost. */
#pragma once

#include "loop.h"

struct folder_watch {
        void (*on_change)(struct folder_watch *watch);
        const char *path;

        struct loop_watch events;
        struct timer repeat;
        struct loop *loop;
        int mark; /* inotify's number of the folder; -1: it is not there */
};

int folder_watch_open(struct loop *loop, struct folder_watch *watch);
/* Reports again this soon, even without a notice. */
void folder_watch_soon(struct folder_watch *watch, uint64_t delay_ns);
void folder_watch_close(struct folder_watch *watch);
