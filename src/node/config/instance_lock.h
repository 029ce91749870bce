/* SPDX-License-Identifier: Apache-2.0 */
/* instance_lock: one vgpu-node at a time works with a folder, also while one release takes over from another. */
#pragma once

#include "err.h"

enum { INSTANCE_WAIT_MS = 60000 };

struct instance_lock {
        const char *folder;
        int fd; /* -1: there is no such folder, or no locks in it */
};

/* Waits until the vgpu-node that has the folder ends, at most `wait_ms`, and says so in the log.
 * -EBUSY: another still has it. */
int instance_lock_open(struct instance_lock *lock, const char *folder, unsigned wait_ms,
                       struct err *e);
/* The folder may be another one now: locks that, without waiting. */
void instance_lock_follow(struct instance_lock *lock);
