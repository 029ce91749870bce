/* SPDX-License-Identifier: Apache-2.0 */
/* identity: the pid by which the driver knows this process, and which of the driver's processes are
 * the container's. The driver may speak the host's pids or those of our own namespace: a container's
 * pid 17 must not show the host's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

/* Opens the region, takes this process's slot in it and finds out its pid. Again in a forked child.
 * 0, or a negative errno: the region cannot be used. */
int identity_open(struct err *e);

/* Does the driver mean this process? */
bool identity_is_self(unsigned driver_pid);
/* Is this process's pid known? Until then nothing of the driver's lists can be its own. */
bool identity_is_known(void);

/* Around the making of the first context: the one process that appeared in the driver's list
 * meanwhile is this one. More than one: it stays unknown. `list` fetches the list; false: it cannot.
 * The caller is alone in the process. identity_watch: false, there is nothing to be learned; it is tried
 * again only where this process is known to be absent from the list.
 * identity_learn: the most that any of the newcomers holds; this process holds no more. */
struct identity_entry {
        unsigned pid;
        uint64_t bytes;
};
typedef bool identity_list_fn(int ordinal, struct identity_entry *entries, unsigned *count);
bool identity_watch(identity_list_fn *list, int ordinal, bool is_absent);
uint64_t identity_learn(identity_list_fn *list, int ordinal);

/* The container's own pid of a process in the driver's list; 0: it is a stranger's. */
unsigned identity_own_pid(unsigned driver_pid);
/* The other way; 0: no process of the container. */
unsigned identity_driver_pid(unsigned own_pid);
