/* SPDX-License-Identifier: Apache-2.0 */
/* pod_process: which pods have processes, by the control groups of all processes that can be seen. */
#pragma once

#include <stdbool.h>

struct pod_processes;

/* As it is now. NULL: it cannot be read. */
struct pod_processes *pod_processes_read(void);
bool pod_processes_have(const struct pod_processes *processes, const char *pod_uid);
void pod_processes_free(struct pod_processes *processes); /* NULL is fine */

/* Is this, of /proc/PID/cgroup, a group of the pod's? kubelet writes a UID as it is, or with '_' instead
 * of each '-'. */
bool pod_process_is_of(const char *cgroup, const char *pod_uid);
