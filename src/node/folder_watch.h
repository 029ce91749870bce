/* folder_watch: tells when something is made or removed in a folder, also if the folder itself comes
 * and goes; and now and then even if nothing was told, because a notice can be lost. */
#pragma once

#include "loop.h"

struct folder_watch {
        void (*on_look)(struct folder_watch *watch);
        const char *path;

        struct loop_watch events;
        struct timer again;
        struct loop *loop;
        int mark; /* inotify's number of the folder; -1: it is not there */
};

int folder_watch_open(struct loop *loop, struct folder_watch *watch);
/* Looks again this soon, though nothing may be told meanwhile. */
void folder_watch_soon(struct folder_watch *watch, uint64_t delay_ns);
void folder_watch_close(struct folder_watch *watch);
