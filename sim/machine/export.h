/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, pools and events that one process offers to others. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "machine.h"

enum { EXPORT_PATH_BYTES = 96 };

/* Takes a free row, writes `row` there with a number of its own, and makes it visible. The slot is
 * the exporter's. -ENOSPC: no row, or no space in the file. */
int export_add(struct machine *machine, const struct machine_slot *slot,
               const struct machine_export *row, uint32_t *ret_index, uint64_t *ret_number);
/* A copy of the row. -ENOENT: it is no longer there, or its exporter is dead. */
int export_get(struct machine *machine, uint32_t index, uint64_t number,
               struct machine_export *ret_row);
/* The row itself, for those who change a word of it; NULL as above. */
struct machine_export *export_row(struct machine *machine, uint32_t index, uint64_t number);
/* Takes it back. Fine if it is gone. */
void export_remove(struct machine *machine, uint32_t index, uint64_t number);

/* The file in shared memory that belongs to an EXPORT_FILE or EXPORT_HANDLE row of this number. The row is added
 * before the file is made and removed after it: whoever reaps the process finds the file by it. */
void export_path(const struct machine *machine, uint64_t number, char path[EXPORT_PATH_BYTES]);

/* Takes back what the slot's process offered, and its files, all but physical memory (kept_memory.h). May be
 * called again after a crash. */
void export_reap(struct machine *machine, uint32_t slot);
