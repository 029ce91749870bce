/* SPDX-License-Identifier: Apache-2.0 */
/* region_check: reads only; nobody is stopped for it. */
#include "region_check.h"

#include <errno.h>
#include <unistd.h>

#include "clock.h"
#include "region_word.h"

const char *region_fault_text(enum region_fault fault)
{
        static const char *const texts[] = {
                [REGION_INTACT] = "is sound",
                [REGION_DELETED] = "was deleted",
                [REGION_REPLACED] = "was replaced",
                [REGION_OVERWROTE] = "was written into: this process's part is not what it wrote",
                [REGION_UNEVEN] = "was written into: it does not add up",
        };

        return texts[fault];
}

enum region_fault region_check_file(const struct region *region, const char *path)
{
        struct file_identity now;
        int r = file_identity_at(path, &now);

        if (r == -ENOENT || r == -ENOTDIR)
                return REGION_DELETED;
        if (r < 0)
                return REGION_INTACT; /* not ours to see any more: a program may drop its rights */
        return file_identity_is(now, region->identity) ? REGION_INTACT : REGION_REPLACED;
}

static bool own_is_right(const struct region *region, unsigned device)
{
        return pair_upper(atomic_load(&charges_of(region, region->slot, device)->held)) ==
               region->own_units[device];
}

/* Under the lock neither changes. */
static bool own_is_right_locked(struct region *region, unsigned device)
{
        brief_lock_take(&region->locks[device].lock);
        bool is_right = own_is_right(region, device);
        brief_lock_give(&region->locks[device].lock);
        return is_right;
}

enum region_fault region_check_own(struct region *region)
{
        uint64_t state = atomic_load(&region->file->slots[region->slot].state);
        bool is_right = state >> 32 == (uint64_t)getpid() && (state & 0xff) == REGION_LIVE;

        for (unsigned d = 0; d < region->device_count && is_right; d++)
                is_right = own_is_right_locked(region, d) &&
                           own_is_right_locked(region, region_virtual(d));
        return is_right ? REGION_INTACT : REGION_OVERWROTE;
}

/* What the slot stands for in the sum; may be less than 0: a reaping that was applied counts against
 * what its victim still shows. */
static int64_t slot_units(const struct region *region, uint32_t slot, unsigned device)
{
        const struct region_charges *own = charges_of(region, slot, device);
        uint64_t held = atomic_load(&own->held), intent = atomic_load(&own->intent);
        int64_t units = (int64_t)pair_upper(held);

        if (number_of(intent) == number_of(held) ||
            !intent_was_applied(region, slot, device, number_of(intent)))
                return units;
        uint64_t victim = atomic_load(&own->victim);
        if (!victim_slot(victim))
                return units + pair_delta(intent);
        const uint64_t dead =
                pair_upper(atomic_load(&charges_of(region, victim_slot(victim), device)->held));
        const uint64_t kept = victim_kept(victim);
        return units - (int64_t)(dead > kept ? dead - kept : 0);
}

enum sample { SAMPLE_EVEN, SAMPLE_UNEVEN, SAMPLE_MOVED /* says nothing */ };

static enum sample sum_sample(const struct region *region, unsigned device, uint64_t until_ns)
{
        enum { SLOTS_AT_ONCE = 64 };
        _Atomic uint64_t *word = &region->file->devices[device].word;
        uint32_t high = atomic_load(&region->file->slots_high);
        uint64_t before = atomic_load(word);
        int64_t sum = 0;

        if (high > REGION_SLOTS)
                return SAMPLE_UNEVEN;
        for (uint32_t i = 1; i <= high; i++) {
                if (i % SLOTS_AT_ONCE == 0 && clock_now_ns() >= until_ns)
                        return SAMPLE_MOVED;
                sum += slot_units(region, i, device);
        }
        if (atomic_load(word) != before)
                return SAMPLE_MOVED;
        return sum == (int64_t)word_units(before) ? SAMPLE_EVEN : SAMPLE_UNEVEN;
}

static enum region_fault sum_check(const struct region *region, unsigned device, uint64_t until_ns)
{
        enum { SAMPLES = 200, UNEVEN_MOST = 12, UNEVEN_SOON = 4 };
        unsigned uneven = 0;

        for (unsigned i = 0; i < SAMPLES && clock_now_ns() < until_ns; i++) {
                enum sample sample = sum_sample(region, device, until_ns);
                if (sample == SAMPLE_EVEN)
                        return REGION_INTACT;
                uneven += sample == SAMPLE_UNEVEN;
                if (uneven == UNEVEN_MOST)
                        return REGION_UNEVEN;
                /* Between two of our reads a process may have taken a step: let it take the next. */
                if (sample == SAMPLE_UNEVEN && uneven > UNEVEN_SOON)
                        usleep(500);
        }
        return REGION_INTACT; /* too busy to be sampled; next time */
}

enum region_fault region_check_sum(const struct region *region, unsigned device)
{
        return sum_check(region, device, UINT64_MAX);
}

enum region_fault region_check_all(const struct region *region, uint64_t until_ns)
{
        uint32_t told = atomic_load(&region->file->fault);
        enum region_fault fault = told <= REGION_UNEVEN ? (enum region_fault)told : REGION_UNEVEN;

        for (unsigned d = 0; d < region->device_count && fault == REGION_INTACT; d++) {
                fault = sum_check(region, d, until_ns);
                if (fault == REGION_INTACT)
                        fault = sum_check(region, region_virtual(d), until_ns);
        }
        return fault;
}
