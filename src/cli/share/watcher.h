/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of `vgpu run`: removes what was made for a program when the program is gone.
 *
 * The program inherits a descriptor that holds a shared lock on each thing's file. The watcher waits
 * for the exclusive lock, which the kernel grants when the last copy of that descriptor is gone,
 * however its holders died; then for processes that closed it but use the thing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct watch {
        const char *path; /* the file whose lock is held */
        /* Removes the thing unless it is in use (false). */
        bool (*remove)(const char *path);
};

/* Takes the shared lock that the program and its children are to hold. The descriptor, or a negative
 * errno. */
int watcher_lock(const char *path);

/* A child of the watcher, which ends with it and is started again if it was killed. */
struct companion {
        void (*run)(const char *path); /* does not return; NULL: none */
        const char *path;
};

/* Starts the watcher. argc and argv are main's: the watcher does not go by the program's name. */
int watcher_start(const struct watch *watches, size_t count, const struct companion *companion,
                  int argc, char **argv, struct err *e);
