/* SPDX-License-Identifier: Apache-2.0 */
/* kept_memory: exported memory (EXPORT_HANDLE rows) whose maker has released it or is gone, and that
 * references keep. It counts on the GPU and in no process. The caller holds the unit's memory_lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

/* The slot gives this export up. True: references keep it, and its bytes are the slot's no more. False: the
 * row is gone, and its bytes are the slot's to give back. */
bool kept_memory_leave(struct machine *machine, unsigned unit, uint32_t slot, uint32_t index);
/* The same of all exports of a slot that is gone. */
void kept_memory_leave_all(struct machine *machine, unsigned unit, uint32_t slot);
/* Gives back what nobody refers to any more. */
void kept_memory_reap(struct machine *machine, unsigned unit);
/* Counts it anew: bytes of the unit that are kept. */
uint64_t kept_memory_sum(struct machine *machine, unsigned unit);
