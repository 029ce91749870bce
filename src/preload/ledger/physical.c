/* SPDX-License-Identifier: Apache-2.0 */
/* physical: three kinds of notes. A handle may be used again by the driver while what it named is
 * still mapped, so the allocation has a number of its own:
 *   handle  → number, count of its references
 *   mapping → number, its length
 *   number  → the charge, count of handles and mappings; the start of its range, once another process may have
 *             it (exported.h) */
#include "physical.h"

#include <stdatomic.h>

#include "exported.h"

/* Keys of the three kinds; addresses and handles of the driver have none of these bits. */
#define HANDLE_KEY(handle)   ((handle) | UINT64_C(1) << 62)
#define MAPPING_KEY(address) ((address) | 2)
#define NUMBER_KEY(number)   ((number) << 2 | UINT64_C(3) << 62)

static void note(uint64_t key, uint64_t number, uint64_t bytes)
{
        /* Not charged: the length of a mapping is kept where a charge has its bytes. */
        struct holding holding = {
                .key = key, .bytes = bytes, .count = 1, .kind = HOLDING_HANDLE, .number = number
        };

        holding_add(&holding);
}

static void number_drop(uint64_t number)
{
        struct holding allocation;

        if (!holding_find(NUMBER_KEY(number), &allocation))
                return;
        if (holding_count(NUMBER_KEY(number), -1) != 0)
                return;
        if (allocation.kind == HOLDING_IMPORTED)
                exported_let_go(&allocation);
        if (allocation.kind == HOLDING_HANDLE && __builtin_expect(allocation.number != 0, 0))
                exported_release(&allocation);
        else
                ledger_release_taken(&allocation);
}

static uint64_t number_next(void)
{
        static _Atomic uint64_t newest;

        return atomic_fetch_add(&newest, 1) + 1;
}

void physical_add(struct charge *charge, uint64_t handle)
{
        const uint64_t number = number_next();

        ledger_settle(charge, NUMBER_KEY(number), HOLDING_HANDLE);
        note(HANDLE_KEY(handle), number, 0);
}

void physical_export(uint64_t handle, int fd)
{
        struct holding named, allocation;

        if (!holding_find(HANDLE_KEY(handle), &named) ||
            !holding_find(NUMBER_KEY(named.number), &allocation))
                return;
        const uint64_t start = exported_note(&allocation, fd);
        if (start && start != allocation.number)
                holding_set_number(allocation.key, start);
}

void physical_import(const struct charge *charge, uint64_t handle, struct export_range range,
                     int fd)
{
        const uint64_t number = number_next();
        struct holding import = { .key = NUMBER_KEY(number),
                                  .bytes = charge->is_counted ? charge->bytes : 0,
                                  .count = 1,
                                  .device = (uint16_t)charge->device_index,
                                  .kind = HOLDING_IMPORTED,
                                  .number = range.start };

        if (!exported_hold(fd, range,
                           &import)) { /* what is charged for it is still to be given back */
                import.kind = HOLDING_HANDLE;
                import.number = 0;
        }
        holding_add(&import);
        note(HANDLE_KEY(handle), number, 0);
}

void physical_retain(uint64_t handle, uint64_t address)
{
        struct holding mapping;

        if (holding_count(HANDLE_KEY(handle), 1) > 0)
                return;
        if (!holding_find(MAPPING_KEY(address), &mapping))
                return;
        if (holding_count(NUMBER_KEY(mapping.number), 1) > 0)
                note(HANDLE_KEY(handle), mapping.number, 0);
}

void physical_map(uint64_t handle, uint64_t address, uint64_t bytes)
{
        struct holding named;

        /* Not ours: imported, and not to be followed. */
        if (!holding_find(HANDLE_KEY(handle), &named))
                return;
        if (holding_count(NUMBER_KEY(named.number), 1) > 0)
                note(MAPPING_KEY(address), named.number, bytes);
}

void physical_unmap(uint64_t address, uint64_t bytes)
{
        uint64_t end = address + bytes;

        while (address < end) {
                struct holding mapping;
                if (holding_take(MAPPING_KEY(address), &mapping)) {
                        number_drop(mapping.number);
                        address += mapping.bytes;
                } else {
                        address += LEDGER_GRANULE_BYTES;
                }
        }
}

void physical_release(uint64_t handle)
{
        struct holding named;

        if (!holding_find(HANDLE_KEY(handle), &named))
                return;
        if (holding_count(HANDLE_KEY(handle), -1) == 0)
                number_drop(named.number);
}
