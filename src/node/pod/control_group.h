/* SPDX-License-Identifier: Apache-2.0 */
/* control_group: to which container does a process belong? Its control group shows it, which the container
 * runtime chose and the process cannot leave. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct control_group {
        char pod_uid[64];       /* "": of no pod */
        char container_id[128]; /* as the container runtime calls it */
        /* The folder, below the control groups' own, in which that group is: who owns it named it. */
        char parent[512];
};

/* What /proc/PID/cgroup says, of either version: kubelet's two forms of names, and those of containerd,
 * CRI-O, Docker and Podman; paths may begin with "/..", as seen from another namespace. What a container
 * makes below its own group does not count, nor what a user makes below the group that systemd leaves to that
 * user. -ENOENT: no container's. */
int control_group_parse(const char *text, struct control_group *ret_group);

/* Is a group of the text one that systemd leaves to a user, or below it? */
bool control_group_is_left(const char *text);

/* Does the folder below `root` (/sys/fs/cgroup) belong to a user? Then names in it are that user's invention. One
 * that cannot be seen is nobody's. */
bool control_group_is_users(const char *root, const struct control_group *group);

/* Of a process that runs. -ESRCH: it does not; -ENOENT: a user named its group. */
int control_group_of(pid_t pid, struct control_group *ret_group);
