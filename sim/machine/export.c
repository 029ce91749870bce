/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, pools and events that one process offers to others. A row counts from the moment its kind
 * is written, which is done last. Detail 2 of memory is the number of the EXPORT_FILE that holds it. */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "slot.h"

void export_path(const struct machine *machine, uint64_t number, char path[EXPORT_PATH_BYTES])
{
        const uint8_t *id = machine->file->header.id;
        int at = snprintf(path, EXPORT_PATH_BYTES, "/dev/shm/vgpu-sim-");

        for (unsigned i = 0; i < 16; i++)
                at += snprintf(path + at, EXPORT_PATH_BYTES - (size_t)at, "%02x", id[i]);
        snprintf(path + at, EXPORT_PATH_BYTES - (size_t)at, "-%llu", (unsigned long long)number);
}

static void row_write(struct machine_export *row, const struct machine_export *from, uint32_t slot,
                      uint64_t number)
{
        struct machine_export copy = *from;

        copy.kind = EXPORT_FREE;
        copy.slot = slot;
        copy.number = number;
        *row = copy;
        __atomic_store_n(&row->kind, from->kind, __ATOMIC_RELEASE);
}

static int row_take(struct machine *machine, uint32_t *ret_index)
{
        struct machine_file *file = machine->file;
        uint32_t high = atomic_load(&file->header.exports_high);

        for (uint32_t i = 0; i < high; i++)
                if (__atomic_load_n(&file->exports[i].kind, __ATOMIC_ACQUIRE) == EXPORT_FREE) {
                        *ret_index = i;
                        return 0;
                }
        if (high == MACHINE_EXPORTS)
                return -ENOSPC;
        off_t offset = (off_t)((char *)&file->exports[high] - (char *)file);
        if (posix_fallocate(machine->fd, offset, sizeof file->exports[high]))
                return -ENOSPC;
        file->exports[high].kind = EXPORT_FREE;
        atomic_store(&file->header.exports_high, high + 1);
        *ret_index = high;
        return 0;
}

int export_add(struct machine *machine, const struct machine_slot *slot,
               const struct machine_export *row, uint32_t *ret_index, uint64_t *ret_number)
{
        uint64_t number = atomic_fetch_add(&machine->file->header.exports_next, 1) + 1;
        uint32_t index;

        machine_lock(&machine->file->header.lock);
        int r = row_take(machine, &index);
        if (r == 0)
                row_write(&machine->file->exports[index], row, slot_index(machine, slot) + 1,
                          number);
        machine_unlock(&machine->file->header.lock);
        if (r < 0)
                return r;
        *ret_index = index;
        *ret_number = number;
        return 0;
}

struct machine_export *export_row(struct machine *machine, uint32_t index, uint64_t number)
{
        if (index >= atomic_load(&machine->file->header.exports_high))
                return NULL;
        struct machine_export *row = &machine->file->exports[index];
        if (__atomic_load_n(&row->kind, __ATOMIC_ACQUIRE) == EXPORT_FREE || row->number != number)
                return NULL;
        return row->slot && slot_is_alive(machine, row->slot - 1) ? row : NULL;
}

int export_get(struct machine *machine, uint32_t index, uint64_t number,
               struct machine_export *ret_row)
{
        const struct machine_export *row = export_row(machine, index, number);

        if (!row)
                return -ENOENT;
        *ret_row = *row;
        /* It may have been taken back, and used again, while it was copied: checked once all of the copy
         * has been read, which only a fence makes sure of. */
        atomic_thread_fence(memory_order_acquire);
        row = export_row(machine, index, number);
        return row && ret_row->number == number ? 0 : -ENOENT;
}

void export_remove(struct machine *machine, uint32_t index, uint64_t number)
{
        struct machine_export *row = export_row(machine, index, number);

        if (row)
                __atomic_store_n(&row->kind, EXPORT_FREE, __ATOMIC_RELEASE);
}

void export_reap(struct machine *machine, uint32_t slot)
{
        uint32_t high = atomic_load(&machine->file->header.exports_high);
        char path[EXPORT_PATH_BYTES];

        for (uint32_t i = 0; i < high; i++) {
                struct machine_export *row = &machine->file->exports[i];
                uint32_t kind = __atomic_load_n(&row->kind, __ATOMIC_ACQUIRE);
                /* Physical memory goes with the slot's bytes (kept_memory.h). */
                if (kind == EXPORT_FREE || kind == EXPORT_HANDLE || row->slot != slot + 1)
                        continue;
                if (kind == EXPORT_FILE) {
                        export_path(machine, row->number, path);
                        unlink(path);
                }
                __atomic_store_n(&row->kind, EXPORT_FREE, __ATOMIC_RELEASE);
        }
}
