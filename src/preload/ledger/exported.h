/* SPDX-License-Identifier: Apache-2.0 */
/* exported: memory of this process that others may hold, and memory of others that this process holds. A
 * range (export_range.h) stands for each. */
#pragma once

#include "export_range.h"
#include "holding_table.h"

/* Once, before all others. What nobody holds any more goes to `release`. */
void exported_start(struct region *region, void (*release)(const struct holding *holding));

/* A handle of what `allocation` holds was exported; its range begins at the answer. 0: nobody can follow it, and
 * it counts as long as this process holds it. */
uint64_t exported_note(const struct holding *allocation, int fd);
/* The allocation is released and unmapped here. It stays charged while anybody else holds it. */
void exported_release(const struct holding *allocation);
/* Gives back what nobody holds any more of those. */
void exported_check(void);

/* This process has imported what the handle stands for; what is charged for it is known to be beyond the driver's
 * figure. False: it cannot be followed. */
bool exported_hold(int fd, struct export_range range, const struct holding *import);
/* An import is released and unmapped. */
void exported_let_go(const struct holding *import);

/* What is charged to this process, without what the driver's figure of it does not have. */
uint64_t exported_held_bytes(unsigned device);
/* Of what a dead process had exported: what somebody holds. */
uint64_t exported_kept(const struct region *region, uint32_t slot, unsigned device);

/* In a forked child. */
void exported_clear(void);
