/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a machine: who is attached, and what the dead leave behind. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

/* Takes a slot for the calling thread's process. The calling thread holds it until it ends: call
 * it from a thread that lives as long as the process. -EUSERS: all slots are taken. */
int slot_attach(struct machine *machine, struct machine_slot **ret_slot);

/* Gives up everything the slot holds; the slot is free afterwards. Only the attached thread. */
void slot_detach(struct machine *machine, struct machine_slot *slot);

/* Frees what dead processes held: memory, work, exports. Returns how many were found. */
unsigned slot_reap(struct machine *machine);

/* Makes the unit's used_bytes from the slots again. The caller holds memory_lock. */
void slot_sum_unit(struct machine *machine, unsigned unit);

bool slot_is_alive(const struct machine *machine, uint32_t index);
/* Its process is gone, and the driver has let go of its memory, whether somebody has reaped it or not. */
bool slot_is_gone(const struct machine *machine, uint32_t index);
/* As the driver lists processes: from attaching until its memory is freed. */
bool slot_is_listed(const struct machine *machine, uint32_t index);
static inline uint32_t slot_index(const struct machine *machine, const struct machine_slot *slot)
{
        return (uint32_t)(slot - machine->file->slots);
}
