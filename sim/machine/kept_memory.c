/* SPDX-License-Identifier: Apache-2.0 */
/* kept_memory: a row without a slot is kept by its references. Order of writes: the row first, then the
 * slot's bytes. Who dies in between leaves the bytes in both, an heir's sum says so, and they leave the dead
 * slot with all the rest. */
#include "kept_memory.h"

#include <unistd.h>

#include "export.h"
#include "reference.h"

static uint32_t rows_high(const struct machine *machine)
{
        return atomic_load(&machine->file->header.exports_high);
}

/* `owner`: the slot's index + 1, or 0. */
static bool row_is(const struct machine_export *row, unsigned unit, uint32_t owner)
{
        return __atomic_load_n(&row->kind, __ATOMIC_ACQUIRE) == EXPORT_HANDLE &&
               row->unit == unit && row->slot == owner;
}

static void row_free(struct machine *machine, struct machine_export *row)
{
        char path[EXPORT_PATH_BYTES];

        export_path(machine, row->number, path);
        unlink(path);
        __atomic_store_n(&row->kind, EXPORT_FREE, __ATOMIC_RELEASE);
}

bool kept_memory_leave(struct machine *machine, unsigned unit, uint32_t slot, uint32_t index)
{
        struct machine_export *row = &machine->file->exports[index];
        struct machine_slot_unit *held = &machine->file->slots[slot].units[unit];

        if (!row_is(row, unit, slot + 1))
                return false;
        if (!reference_is_held(machine, index, row->number)) {
                row_free(machine, row);
                return false;
        }
        row->slot = 0;
        held->device_bytes -= row->bytes < held->device_bytes ? row->bytes : held->device_bytes;
        machine_unit(machine, unit)->kept_rows++;
        return true;
}

void kept_memory_leave_all(struct machine *machine, unsigned unit, uint32_t slot)
{
        const uint32_t high = rows_high(machine);

        for (uint32_t i = 0; i < high; i++)
                kept_memory_leave(machine, unit, slot, i);
}

void kept_memory_reap(struct machine *machine, unsigned index)
{
        struct machine_unit *unit = machine_unit(machine, index);
        const uint32_t high = unit->kept_rows ? rows_high(machine) : 0;

        for (uint32_t i = 0; i < high; i++) {
                struct machine_export *row = &machine->file->exports[i];
                if (!row_is(row, index, 0) || reference_is_held(machine, i, row->number))
                        continue;
                unit->used_bytes -= row->bytes;
                unit->kept_rows--;
                row_free(machine, row);
        }
}

uint64_t kept_memory_sum(struct machine *machine, unsigned index)
{
        struct machine_unit *unit = machine_unit(machine, index);
        const uint32_t high = rows_high(machine);
        uint64_t bytes = 0;

        unit->kept_rows = 0;
        for (uint32_t i = 0; i < high; i++) {
                const struct machine_export *row = &machine->file->exports[i];
                if (!row_is(row, index, 0))
                        continue;
                unit->kept_rows++;
                bytes += row->bytes;
        }
        return bytes;
}
