/* SPDX-License-Identifier: Apache-2.0 */
/* control_group: to which container does a process belong? Its control group shows it, which the container
 * runtime chose and the process cannot leave. */
#pragma once

#include <sys/types.h>

struct control_group {
        char pod_uid[64];       /* "": of no pod */
        char container_id[128]; /* as the container runtime calls it */
};

/* What /proc/PID/cgroup says, of either version: kubelet's two forms of names, and those of containerd,
 * CRI-O, Docker and Podman; paths may begin with "/..", as seen from another namespace. What a container
 * makes below its own group does not count. -ENOENT: no container's. */
int control_group_parse(const char *text, struct control_group *ret_group);

/* Of a process that runs. -ESRCH: it does not. */
int control_group_of(pid_t pid, struct control_group *ret_group);
