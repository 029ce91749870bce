/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a unit (a GPU or a MIG GPU instance), shared by all processes. */
#pragma once

#include <stdint.h>

#include "machine.h"

struct unit_memory {
        uint64_t total_bytes; /* what programs can have */
        uint64_t used_bytes;
        uint64_t free_bytes;
        uint64_t managed_bytes; /* part of used that can be evicted */
};

/* Takes `bytes` for the slot, evicting managed memory if need be. -ENOMEM: the GPU is full even
 * after the dead were reaped. */
int unit_charge(struct machine *machine, unsigned unit, struct machine_slot *slot, uint64_t bytes);
void unit_release(struct machine *machine, unsigned unit, struct machine_slot *slot,
                  uint64_t bytes);

/* The same of memory that is exported in this row: references may keep it on the GPU. */
void unit_release_export(struct machine *machine, unsigned unit, struct machine_slot *slot,
                         uint64_t bytes, uint32_t index);

/* The same for a context: also shown as such. */
int unit_charge_context(struct machine *machine, unsigned unit, struct machine_slot *slot,
                        uint64_t bytes);
void unit_release_context(struct machine *machine, unsigned unit, struct machine_slot *slot,
                          uint64_t bytes);

/* Brings up to `bytes` of managed memory onto the GPU, evicting others' (then own) managed memory
 * when it is full. Returns how many bytes came on. */
uint64_t unit_managed_in(struct machine *machine, unsigned unit, struct machine_slot *slot,
                         uint64_t bytes);
void unit_managed_out(struct machine *machine, unsigned unit, struct machine_slot *slot,
                      uint64_t bytes);

/* Memory that no process of ours holds (`vgpu sim inject --outsider`). */
int unit_set_outsider(struct machine *machine, unsigned unit, uint64_t bytes);

void unit_memory(struct machine *machine, unsigned unit, struct unit_memory *ret_memory);
