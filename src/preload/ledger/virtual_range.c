/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_range: an array in the order of addresses. Ranges are large and so few; a program looks them
 * up by any address in them. */
#include "virtual_range.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "lock.h"

enum {
        FIRST_ROWS = 256,
        USES_MOST = 32, /* then all are halved: what was used long ago is forgotten */
        USES_HOT = 4,
};

static struct {
        struct lock lock;
        struct virtual_range *rows;
        size_t capacity;
        _Atomic size_t count;
        uint32_t uses_most; /* of any range, lately */
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
                /* A new one is not taken for one that nobody uses. */
                if (!range->uses && !range->host_bytes)
                        ranges.rows[row].uses = ranges.uses_most;
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

static void uses_halve(void)
{
        for (size_t i = 0; i < ranges.count; i++)
                ranges.rows[i].uses /= 2;
        ranges.uses_most /= 2;
}

static bool row_use(struct virtual_range *range)
{
        range->uses++;
        if (range->uses > ranges.uses_most)
                ranges.uses_most = range->uses;
        const bool is_hot =
                range->host_bytes >= VIRTUAL_RANGE_GRANULE_BYTES && range->uses >= USES_HOT;
        if (range->uses >= USES_MOST)
                uses_halve();
        return is_hot;
}

/* The range in use that has this address; NULL: none has. */
static struct virtual_range *row_in_use(uint64_t address)
{
        const size_t row = row_above(address);
        struct virtual_range *range = row < ranges.count ? &ranges.rows[row] : NULL;

        return range && range->address <= address && !range->event ? range : NULL;
}

bool virtual_range_pin(uint64_t address, uint64_t end)
{
        lock_take(&ranges.lock);
        struct virtual_range *range = row_in_use(address);
        const bool is_on_device = range && end <= range->address + range->device_bytes;
        if (is_on_device)
                range->is_pinned = true;
        lock_give(&ranges.lock);
        return is_on_device;
}

bool virtual_range_use(uint64_t address, bool is_captured)
{
        bool is_hot = false;

        lock_take(&ranges.lock);
        struct virtual_range *range = row_in_use(address);
        if (range) {
                range->is_in_graph |= is_captured;
                is_hot = row_use(range);
        }
        lock_give(&ranges.lock);
        return is_hot;
}

unsigned virtual_range_use_graphs(uint64_t *ret_addresses, unsigned most)
{
        unsigned count = 0;

        lock_take(&ranges.lock);
        for (size_t i = 0; i < ranges.count; i++)
                if (ranges.rows[i].is_in_graph && !ranges.rows[i].event &&
                    row_use(&ranges.rows[i]) && count < most)
                        ret_addresses[count++] = ranges.rows[i].address;
        lock_give(&ranges.lock);
        return count;
}

/* The one that was used least of those that have bytes on the same GPU. */
static struct virtual_range *coldest(const struct virtual_range *hot)
{
        struct virtual_range *found = NULL;

        for (size_t i = 0; i < ranges.count; i++) {
                struct virtual_range *range = &ranges.rows[i];

                if (range == hot || range->device_index != hot->device_index || range->is_steady ||
                    range->is_pinned || range->event ||
                    range->device_bytes < VIRTUAL_RANGE_GRANULE_BYTES)
                        continue;
                if (!found || range->uses < found->uses)
                        found = range;
        }
        return found && found->uses <= hot->uses / 2 ? found : NULL;
}

/* The last granule may be longer than the range. */
static uint64_t bytes_within(const struct virtual_range *range, uint64_t from, uint64_t bytes)
{
        const uint64_t left = range->address + range->bytes - from;

        return bytes < left ? bytes : left;
}

/* Whole granules, so that the sums of both charges stay what they are. */
static void charges_exchange(struct virtual_range *hot, struct virtual_range *cold,
                             struct virtual_exchange *ret_exchange)
{
        const uint64_t granule = VIRTUAL_RANGE_GRANULE_BYTES;
        const uint64_t wanted = hot->host_bytes / granule * granule;
        const uint64_t bytes = wanted < cold->device_bytes ? wanted : cold->device_bytes;
        const uint64_t to = hot->address + hot->device_bytes;
        const uint64_t from = cold->address + cold->device_bytes - bytes;

        *ret_exchange = (struct virtual_exchange){ .hot = to,
                                                   .hot_bytes = bytes_within(hot, to, bytes),
                                                   .cold = from,
                                                   .cold_bytes = bytes_within(cold, from, bytes),
                                                   .ordinal = hot->ordinal };
        hot->device_bytes += bytes;
        hot->host_bytes -= bytes;
        cold->device_bytes -= bytes;
        cold->host_bytes += bytes;
}

bool virtual_range_exchange(uint64_t address, struct virtual_exchange *ret_exchange)
{
        bool is_found = false;

        lock_take(&ranges.lock);
        struct virtual_range *hot = row_in_use(address);
        if (hot && !hot->is_steady && hot->host_bytes >= VIRTUAL_RANGE_GRANULE_BYTES) {
                struct virtual_range *cold = coldest(hot);

                is_found = cold;
                if (cold)
                        charges_exchange(hot, cold, ret_exchange);
        }
        lock_give(&ranges.lock);
        return is_found;
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
