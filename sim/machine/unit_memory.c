/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a unit. Order of writes: the slot first, then the sum; an heir makes the sum again. */
#include "unit_memory.h"

#include <errno.h>
#include <stdbool.h>

#include "kept_memory.h"
#include "slot.h"

static void memory_lock(struct machine *machine, unsigned unit)
{
        if (machine_lock(&machine_unit(machine, unit)->memory_lock))
                slot_sum_unit(machine, unit);
}

/* On hardware the memory of a process is freed before the process is gone, and exported memory with its last
 * reference. So neither counts, even if nobody has cleaned up yet. The caller holds the lock. */
static void gone_leave(struct machine *machine, unsigned index)
{
        struct machine_unit *unit = machine_unit(machine, index);
        uint32_t high = atomic_load(&machine->file->header.slots_high);

        for (uint32_t i = 0; i < high; i++) {
                struct machine_slot_unit *held = &machine->file->slots[i].units[index];
                if (!(held->device_bytes + held->managed_bytes) || !slot_is_gone(machine, i))
                        continue;
                kept_memory_leave_all(machine, index, i);
                const uint64_t bytes = held->device_bytes + held->managed_bytes;
                held->device_bytes = held->managed_bytes = 0;
                unit->used_bytes -= bytes;
        }
        kept_memory_reap(machine, index);
}

static void memory_unlock(struct machine *machine, unsigned unit)
{
        machine_unlock(&machine_unit(machine, unit)->memory_lock);
}

static uint64_t slot_evict(struct machine_unit *unit, struct machine_slot_unit *held,
                           uint64_t bytes)
{
        uint64_t taken = held->managed_bytes < bytes ? held->managed_bytes : bytes;

        held->managed_bytes -= taken;
        unit->used_bytes -= taken;
        unit->evicted_bytes += taken;
        return taken;
}

/* Pushes managed memory out to the host, other processes' first. */
static void unit_evict(struct machine *machine, unsigned unit, struct machine_slot *own,
                       uint64_t bytes)
{
        uint32_t high = atomic_load(&machine->file->header.slots_high);

        for (uint32_t i = 0; i < high && bytes; i++) {
                struct machine_slot *slot = &machine->file->slots[i];
                if (slot != own && atomic_load(&slot->state) == SLOT_LIVE)
                        bytes -= slot_evict(machine_unit(machine, unit), &slot->units[unit], bytes);
        }
        if (bytes)
                slot_evict(machine_unit(machine, unit), &own->units[unit], bytes);
}

static bool unit_fits(struct machine *machine, unsigned index, struct machine_slot *slot,
                      uint64_t bytes)
{
        struct machine_unit *unit = machine_unit(machine, index);
        uint64_t free_bytes =
                unit->memory_bytes > unit->used_bytes ? unit->memory_bytes - unit->used_bytes : 0;

        if (bytes > free_bytes) {
                unit_evict(machine, index, slot, bytes - free_bytes);
                free_bytes = unit->memory_bytes > unit->used_bytes
                                     ? unit->memory_bytes - unit->used_bytes
                                     : 0;
        }
        return bytes <= free_bytes;
}

static int unit_take(struct machine *machine, unsigned unit, struct machine_slot *slot,
                     uint64_t bytes, bool is_context)
{
        struct machine_slot_unit *held = &slot->units[unit];

        memory_lock(machine, unit);
        gone_leave(machine, unit);
        /* A thread that outlives its process's death by an instant gets nothing any more. */
        if (!slot_is_alive(machine, slot_index(machine, slot)) ||
            !unit_fits(machine, unit, slot, bytes)) {
                memory_unlock(machine, unit);
                return -ENOMEM;
        }
        held->device_bytes += bytes;
        machine_unit(machine, unit)->used_bytes += bytes;
        if (is_context) {
                held->context_bytes += bytes;
                held->contexts++;
        }
        memory_unlock(machine, unit);
        return 0;
}

static int unit_take_or_reap(struct machine *machine, unsigned unit, struct machine_slot *slot,
                             uint64_t bytes, bool is_context)
{
        int r = unit_take(machine, unit, slot, bytes, is_context);

        if (r == -ENOMEM && slot_reap(machine))
                r = unit_take(machine, unit, slot, bytes, is_context);
        return r;
}

int unit_charge(struct machine *machine, unsigned unit, struct machine_slot *slot, uint64_t bytes)
{
        return unit_take_or_reap(machine, unit, slot, bytes, false);
}

int unit_charge_context(struct machine *machine, unsigned unit, struct machine_slot *slot,
                        uint64_t bytes)
{
        return unit_take_or_reap(machine, unit, slot, bytes, true);
}

/* A thread that outlives its process's death by an instant may find it freed already. */
static void unit_give(struct machine *machine, unsigned unit, struct machine_slot_unit *held,
                      uint64_t bytes)
{
        if (bytes > held->device_bytes)
                bytes = held->device_bytes;
        held->device_bytes -= bytes;
        machine_unit(machine, unit)->used_bytes -= bytes;
}

void unit_release(struct machine *machine, unsigned unit, struct machine_slot *slot, uint64_t bytes)
{
        memory_lock(machine, unit);
        unit_give(machine, unit, &slot->units[unit], bytes);
        memory_unlock(machine, unit);
}

void unit_release_export(struct machine *machine, unsigned unit, struct machine_slot *slot,
                         uint64_t bytes, uint32_t index)
{
        memory_lock(machine, unit);
        if (!kept_memory_leave(machine, unit, slot_index(machine, slot), index))
                unit_give(machine, unit, &slot->units[unit], bytes);
        memory_unlock(machine, unit);
}

void unit_release_context(struct machine *machine, unsigned unit, struct machine_slot *slot,
                          uint64_t bytes)
{
        struct machine_slot_unit *held = &slot->units[unit];

        memory_lock(machine, unit);
        held->context_bytes -= bytes;
        held->contexts--;
        unit_give(machine, unit, held, bytes);
        memory_unlock(machine, unit);
}

uint64_t unit_managed_in(struct machine *machine, unsigned index, struct machine_slot *slot,
                         uint64_t bytes)
{
        struct machine_unit *unit = machine_unit(machine, index);

        memory_lock(machine, index);
        gone_leave(machine, index);
        if (!slot_is_alive(machine, slot_index(machine, slot)))
                bytes = 0;
        else if (!unit_fits(machine, index, slot, bytes))
                bytes = unit->memory_bytes > unit->used_bytes
                                ? (unit->memory_bytes - unit->used_bytes) &
                                          ~(MACHINE_GRANULE_BYTES - 1)
                                : 0;
        slot->units[index].managed_bytes += bytes;
        unit->used_bytes += bytes;
        memory_unlock(machine, index);
        return bytes;
}

void unit_managed_out(struct machine *machine, unsigned unit, struct machine_slot *slot,
                      uint64_t bytes)
{
        struct machine_slot_unit *held = &slot->units[unit];

        memory_lock(machine, unit);
        /* Others may have evicted some of it since the caller checked. */
        if (bytes > held->managed_bytes)
                bytes = held->managed_bytes;
        held->managed_bytes -= bytes;
        machine_unit(machine, unit)->used_bytes -= bytes;
        memory_unlock(machine, unit);
}

int unit_set_outsider(struct machine *machine, unsigned index, uint64_t bytes)
{
        struct machine_unit *unit = machine_unit(machine, index);
        int r = 0;

        memory_lock(machine, index);
        gone_leave(machine, index);
        uint64_t others = unit->used_bytes - unit->outsider_bytes;
        if (bytes > unit->memory_bytes || others > unit->memory_bytes - bytes) {
                r = -ENOMEM;
        } else {
                unit->outsider_bytes = bytes;
                unit->used_bytes = others + bytes;
        }
        memory_unlock(machine, index);
        return r;
}

void unit_memory(struct machine *machine, unsigned index, struct unit_memory *ret_memory)
{
        struct machine_unit *unit = machine_unit(machine, index);
        uint32_t high = atomic_load(&machine->file->header.slots_high);
        uint64_t managed = 0;

        memory_lock(machine, index);
        gone_leave(machine, index);
        for (uint32_t i = 0; i < high; i++)
                if (atomic_load(&machine->file->slots[i].state) == SLOT_LIVE)
                        managed += machine->file->slots[i].units[index].managed_bytes;
        *ret_memory = (struct unit_memory){
                .total_bytes = unit->memory_bytes,
                .used_bytes = unit->used_bytes,
                .free_bytes = unit->memory_bytes > unit->used_bytes
                                      ? unit->memory_bytes - unit->used_bytes
                                      : 0,
                .managed_bytes = managed,
        };
        memory_unlock(machine, index);
}
