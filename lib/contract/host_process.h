/* SPDX-License-Identifier: Apache-2.0 */
/* host_process: what /proc tells about the pids that the driver speaks. */
#pragma once

#include <stdbool.h>

/* Where an operator may mount the host's /proc into a container. */
#define HOST_PROC "/etc/vgpu/proc"

/* This process's pid in the host's /proc, where one is mounted (there, or over our own); 0: none is. */
unsigned host_process_self(void);
/* The same, or its own pid: what the driver calls it where containers share the host's pids. */
unsigned host_process_visible_self(void);

/* Is this the host's own pid namespace? */
bool host_process_is_initial(void);
/* Are the kernel modules the open ones, which speak the caller's pids? */
bool host_process_driver_is_open(void);

/* What a process of the host's calls itself in its own namespace; its pid where that cannot be seen. */
unsigned host_process_innermost(unsigned pid);
/* The pid, as it sees itself, of a process in our control group (1: version 1, 2: version 2); 0: it is
 * in another, or cannot be seen. */
unsigned host_process_of_group(unsigned driver_pid, int version);
