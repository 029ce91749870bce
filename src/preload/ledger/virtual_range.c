/* virtual_range: an array in the order of addresses. Ranges are large and so few; a program looks them
 * up by any address in them. */
#include "virtual_range.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "ledger.h"
#include "lock.h"

enum { FIRST_PLACES = 256 };

static struct {
        struct lock lock;
        struct virtual_range *places;
        size_t capacity;
        _Atomic size_t count;
} ranges;

/* The first place whose range ends above the address. */
static size_t place_above(uint64_t address)
{
        size_t low = 0, high = ranges.count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                const struct virtual_range *range = &ranges.places[middle];
                if (range->address + range->bytes <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static bool has_room(void)
{
        size_t capacity = ranges.capacity ? ranges.capacity * 2 : FIRST_PLACES;
        size_t held = ranges.count * sizeof *ranges.places;

        if (ranges.count < ranges.capacity)
                return true;
        struct virtual_range *places = mmap(NULL, capacity * sizeof *places, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (places == MAP_FAILED)
                return false;
        if (held) {
                memcpy(places, ranges.places, held);
                munmap(ranges.places, ranges.capacity * sizeof *places);
        }
        ranges.places = places;
        ranges.capacity = capacity;
        return true;
}

bool virtual_range_add(const struct virtual_range *range)
{
        lock_take(&ranges.lock);
        bool is_added = has_room();
        if (is_added) {
                size_t place = place_above(range->address);
                memmove(&ranges.places[place + 1], &ranges.places[place],
                        (ranges.count - place) * sizeof *range);
                ranges.places[place] = *range;
                ranges.count++;
        }
        lock_give(&ranges.lock);
        return is_added;
}

static void place_take(size_t place, struct virtual_range *ret_range)
{
        *ret_range = ranges.places[place];
        ranges.count--;
        memmove(&ranges.places[place], &ranges.places[place + 1],
                (ranges.count - place) * sizeof *ret_range);
}

bool virtual_range_take(uint64_t address, struct virtual_range *ret_range)
{
        lock_take(&ranges.lock);
        size_t place = place_above(address);
        bool is_there = place < ranges.count && ranges.places[place].address == address &&
                        !ranges.places[place].event;
        if (is_there)
                place_take(place, ret_range);
        lock_give(&ranges.lock);
        return is_there;
}

bool virtual_range_find(uint64_t address, uint64_t bytes, struct virtual_range *ret_range)
{
        lock_take(&ranges.lock);
        size_t place = place_above(address);
        const struct virtual_range *range = &ranges.places[place];
        bool is_there = place < ranges.count &&
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
                is_found = ranges.places[i].event && suits(&ranges.places[i], closure);
                if (is_found)
                        place_take(i, ret_range);
        }
        lock_give(&ranges.lock);
        return is_found;
}

bool virtual_range_is_any(void)
{
        return atomic_load_explicit(&ranges.count, memory_order_relaxed) != 0;
}

void virtual_range_each(void (*visit)(const struct virtual_range *range, void *closure),
                        void *closure)
{
        lock_take(&ranges.lock);
        for (size_t i = 0; i < ranges.count; i++)
                if (!ranges.places[i].event)
                        visit(&ranges.places[i], closure);
        lock_give(&ranges.lock);
}

void virtual_range_refund(const struct virtual_range *range)
{
        ledger_give_back_virtual(range->account, range->host_bytes);
        if (range->device_bytes)
                region_refund(ledger_region(), range->account, REGION_MANAGED, range->device_bytes);
}

void virtual_range_release_context(uint64_t context)
{
        struct virtual_range range;

        if (!virtual_range_is_any())
                return;
        lock_take(&ranges.lock);
        for (size_t i = 0; i < ranges.count;) {
                if (ranges.places[i].context == context) {
                        place_take(i, &range);
                        virtual_range_refund(&range);
                } else {
                        i++;
                }
        }
        lock_give(&ranges.lock);
}

void virtual_range_clear(void)
{
        if (ranges.places)
                munmap(ranges.places, ranges.capacity * sizeof *ranges.places);
        memset(&ranges, 0, sizeof ranges);
}
