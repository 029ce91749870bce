/* Limits by environment, in the form of a share. */
#pragma once

#include "share.h"

/* Rows by position in NVML's order (or of VGPU_DEVICES, see limits_environment_position). The one
 * sentence of -EINVAL names the variable. */
int limits_environment_read(struct share_copy *ret_copy, struct err *e);

/* Is any limit set? */
bool limits_environment_is_set(const struct share_copy *copy);

/* The row of a device: its place in the list of UUIDs that the environment gives; without such a list
 * its place in NVML's order. */
unsigned limits_environment_position(const char *uuid, unsigned position);

/* The account's file. */
void limits_environment_region(char ret_path[SHARE_TEXT]);
