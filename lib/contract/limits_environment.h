/* Limits by environment, in the form of a share. */
#pragma once

#include "share.h"

/* Rows by position in NVML's order (or of VGPU_DEVICES, see limits_environment_position). The one
 * sentence of -EINVAL names the variable. */
int limits_environment_read(struct share_copy *ret_copy, struct err *e);

/* The size of the card at this position: what a row without a limit, but with a ratio or oversold, may
 * have on it. */
void limits_environment_card(struct share_copy *copy, unsigned position, uint64_t bytes);

/* Is any limit set, or memory beyond the card? */
bool limits_environment_is_set(const struct share_copy *copy);

/* The row of a device: its place in the list of UUIDs that the environment gives; without such a list
 * its place in NVML's order. */
unsigned limits_environment_position(const struct share_copy *copy, const char *uuid,
                                     unsigned position);

/* The account's file. */
void limits_environment_region(char ret_path[SHARE_TEXT]);
