/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_range: an array in the order of addresses. Ranges are large and so few; a program looks them
 * up by any address in them. */
#include "virtual_range.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "lock.h"

enum { FIRST_ROWS = 256 };

static struct {
        struct lock lock;
        struct virtual_range *rows;
        size_t capacity;
        _Atomic size_t count;
} ranges;

/* The first row whose range ends above the address. */
static size_t row_above(uint64_t address)
{
        size_t low = 0, high = ranges.count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                const struct virtual_range *range = &ranges.rows[middle];
                if (range->address + range->bytes <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static bool has_capacity(void)
{
        size_t capacity = ranges.capacity ? ranges.capacity * 2 : FIRST_ROWS;
        size_t held = ranges.count * sizeof *ranges.rows;

        if (ranges.count < ranges.capacity)
                return true;
        struct virtual_range *rows = mmap(NULL, capacity * sizeof *rows, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (rows == MAP_FAILED)
                return false;
        if (held) {
                memcpy(rows, ranges.rows, held);
                munmap(ranges.rows, ranges.capacity * sizeof *rows);
        }
        ranges.rows = rows;
        ranges.capacity = capacity;
        return true;
}

bool virtual_range_add(const struct virtual_range *range)
{
        lock_take(&ranges.lock);
        bool is_added = has_capacity();
        if (is_added) {
                size_t row = row_above(range->address);
                memmove(&ranges.rows[row + 1], &ranges.rows[row],
                        (ranges.count - row) * sizeof *range);
                ranges.rows[row] = *range;
                ranges.count++;
        }
        lock_give(&ranges.lock);
        return is_added;
}

static void row_take(size_t row, struct virtual_range *ret_range)
{
        *ret_range = ranges.rows[row];
        ranges.count--;
        memmove(&ranges.rows[row], &ranges.rows[row + 1], (ranges.count - row) * sizeof *ret_range);
}

bool virtual_range_take(uint64_t address, struct virtual_range *ret_range)
{
        lock_take(&ranges.lock);
        size_t row = row_above(address);
        bool is_there = row < ranges.count && ranges.rows[row].address == address &&
                        !ranges.rows[row].event;
        if (is_there)
                row_take(row, ret_range);
        lock_give(&ranges.lock);
        return is_there;
}

bool virtual_range_find(uint64_t address, uint64_t bytes, struct virtual_range *ret_range)
{
        lock_take(&ranges.lock);
        size_t row = row_above(address);
        const struct virtual_range *range = &ranges.rows[row];
        bool is_there = row < ranges.count &&
                        (range->address <= address || range->address - address < bytes);
        if (is_there)
                *ret_range = *range;
        lock_give(&ranges.lock);
        return is_there;
}

bool virtual_range_take_freed(bool (*suits)(const struct virtual_range *range, void *closure),
                              void *closure, struct virtual_range *ret_range)
{
        bool is_found = false;

        lock_take(&ranges.lock);
        for (size_t i = 0; i < ranges.count && !is_found; i++) {
                is_found = ranges.rows[i].event && suits(&ranges.rows[i], closure);
                if (is_found)
                        row_take(i, ret_range);
        }
        lock_give(&ranges.lock);
        return is_found;
}

unsigned virtual_range_list(unsigned device_index, uint64_t address,
                            struct virtual_range *ret_ranges, unsigned most)
{
        unsigned count = 0;

        if (!virtual_range_is_any())
                return 0;
        lock_take(&ranges.lock);
        for (size_t i = row_above(address); i < ranges.count && count < most; i++) {
                const struct virtual_range *range = &ranges.rows[i];

                if (range->device_index == device_index && range->address > address &&
                    !range->event)
                        ret_ranges[count++] = *range;
        }
        lock_give(&ranges.lock);
        return count;
}

bool virtual_range_is_any(void)
{
        return atomic_load_explicit(&ranges.count, memory_order_relaxed) != 0;
}

void virtual_range_refund(const struct virtual_range *range, struct region *region)
{
        if (range->host_bytes)
                region_refund(region, region_virtual(range->device_index), REGION_MANAGED,
                              range->host_bytes);
        if (range->device_bytes)
                region_refund(region, range->device_index, REGION_MANAGED, range->device_bytes);
}

void virtual_range_release_context(uint64_t context, struct region *region)
{
        struct virtual_range range;

        if (!virtual_range_is_any())
                return;
        lock_take(&ranges.lock);
        for (size_t i = 0; i < ranges.count;) {
                if (ranges.rows[i].context == context) {
                        row_take(i, &range);
                        virtual_range_refund(&range, region);
                } else {
                        i++;
                }
        }
        lock_give(&ranges.lock);
}

void virtual_range_clear(void)
{
        if (ranges.rows)
                munmap(ranges.rows, ranges.capacity * sizeof *ranges.rows);
        memset(&ranges, 0, sizeof ranges);
}
