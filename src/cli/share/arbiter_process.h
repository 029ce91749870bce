/* SPDX-License-Identifier: Apache-2.0 */
/* The arbiter between the shares of one user, as a process beside each `vgpu run`: one of them has the
 * lock (arbiter_lock.h), the others wait for it. */
#pragma once

#include "share_layout.h"

/* Becomes a candidate on behalf of this share, and the arbiter when the lock is free. The
 * watcher, whose companion it is, takes it along when it ends. */
_Noreturn void arbiter_process_run(const char *share_path);

/* Tells the arbiter of the share's folder that a share came or went. */
void arbiter_process_ring(const char *share_path);

/* The path of the lock of the shares in this folder. */
void arbiter_process_lock_path(const char *root, char ret_path[SHARE_TEXT]);
