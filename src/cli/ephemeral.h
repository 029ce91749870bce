/* Machines of `vgpu run --sim`: they vanish with the last process that uses them. */
#pragma once

#include "err.h"
#include "machine.h"

enum { EPHEMERAL_PATH_BYTES = 4096 };

/* Makes a machine in the best place, removing what others left behind there, and starts its
 * watcher. The caller's process and all that inherit its open files keep the machine alive; so do
 * all attached processes. argc and argv are main's: the watcher does not go by the program's name. */
int ephemeral_create(const struct machine_spec *spec, char ret_path[EPHEMERAL_PATH_BYTES], int argc,
                     char **argv, struct err *e);
