/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of `vgpu run --sim`: they vanish with the last process that uses them. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "machine.h"

enum { RUN_MACHINE_PATH_BYTES = 4096 };

/* Makes a machine in the best folder, removing what others left behind there. The caller's process and
 * all that inherit its open files hold its lock (watcher.h); the caller starts the watcher. */
int run_machine_create(const struct machine_spec *spec, char ret_path[RUN_MACHINE_PATH_BYTES],
                       struct err *e);

/* Removes the machine if no process uses it; false: one does. For the watcher. */
bool run_machine_remove(const char *path);
