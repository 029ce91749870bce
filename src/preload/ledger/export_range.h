/* SPDX-License-Identifier: Apache-2.0 */
/* export_range: which exported memory somebody still holds.
 *
 * The driver's handle of exported memory is an open file of one of its nodes. It lives until its last
 * duplicate is closed, in whatever process, or on its way to one. A lock that belongs to the open file
 * (F_OFD_SETLK) lives exactly as long. So each handle gets a lock, on a range of the node that stands for the
 * memory: one byte for each granule, in a window for each {container, process slot, device}. An import has no
 * open file of the driver's; the importer locks the same range through one of its own. What is still locked
 * is still held: the kernel counts, whoever dies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "file_identity.h"
#include "region.h"

struct export_range {
        uint64_t start, granules;
};

/* All that a process slot's memory on a device can have. */
struct export_range export_range_window(const struct region *region, uint32_t slot,
                                        unsigned device);
/* Does it stand for memory of this container? */
bool export_range_is_of(const struct region *region, struct export_range range);

/* Locks the range in the name of the descriptor's open file. 0 or a negative errno. */
int export_range_lock(int fd, struct export_range range);
int export_range_unlock(int fd, struct export_range range);
/* Has another open file than the descriptor's a lock in the range? Part of it, if so. */
bool export_range_is_locked(int fd, struct export_range range, struct export_range *ret_part);
/* How much of it has. */
uint64_t export_range_locked(int fd, struct export_range range);
/* The range of a handle, by its own lock. False: it has none, or nobody can say. */
bool export_range_of(int fd, struct export_range *ret_range);

/* Another open file of the same node, under a high number: a dying process closes it after the driver's own, whose
 * memory it stands for. The same of the node that some descriptor of this process is open on. Negative:
 * there is none. */
int export_node_reopen(int fd);
/* -ENOENT: no descriptor of this process is open on it. Another negative errno: it cannot be asked now. */
int export_node_open(struct file_identity node);
