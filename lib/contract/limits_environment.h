/* SPDX-License-Identifier: Apache-2.0 */
/* Limits by environment, in the form of a share. */
#pragma once

#include "share.h"
#include "variable.h"

/* Rows by position in NVML's order (or of VGPU_DEVICES, see limits_environment_position). The one
 * sentence of -EINVAL names the variable: its value means nothing, or its name is a limit's misspelt. */
int limits_environment_read(struct share_copy *ret_copy, struct variable_names *ret_names,
                            struct err *e);

/* A GPU or MIG device that the program could use: its UUID, and its position in NVML's order (a MIG device's:
 * in its GPU). */
struct limits_gpu {
        char uuid[SHARE_UUID];
        unsigned position;
};

/* Has every limit with a device's number its GPU among these? -ENODEV: one would hold nobody, and the
 * sentence says which; whoever set it gets no GPU. */
int limits_environment_check(const struct share_copy *copy, const struct limits_gpu *gpus,
                             unsigned count, struct err *e);

/* -EINVAL: the list of devices is none by whose order limits with numbers can go: it is no list of UUIDs, a
 * name with a number has something else than one, or "all" stands beside a list. has_runtime: the caller acts
 * upon lists itself; only a container's runtime acts upon numbers. */
int limits_environment_list_check(bool has_runtime, struct err *e);

/* The size of the GPU at this position: what a row without a limit, but with a ratio or oversold, may
 * have on it. */
void limits_environment_device_size(struct share_copy *copy, unsigned position, uint64_t bytes);

/* Is any limit set, or memory beyond the GPU? */
bool limits_environment_is_set(const struct share_copy *copy);

/* The row of a device: its position in the list of UUIDs that the environment gives; without such a list
 * its position in NVML's order. */
unsigned limits_environment_position(const struct share_copy *copy, const char *uuid,
                                     unsigned position);

/* Does the list of UUIDs, if there is one, name this device? */
bool limits_environment_names(const struct share_copy *copy, const char *uuid);

/* The variable that sets the row's memory limit; "": none does. */
void limits_environment_memory_name(unsigned position, char ret_name[64]);

/* The region's path, in folders that are made where they are missing. False: the one that was asked for
 * cannot be had, ret_path is another, and *why has the sentence. */
bool limits_environment_region(char ret_path[SHARE_TEXT], struct err *why);
