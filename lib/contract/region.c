/* SPDX-License-Identifier: Apache-2.0 */
/* The region: operations on a device's word. See region_layout.h for why this is exact. */
#include "region.h"

#include <errno.h>

#include "region_process.h"
#include "region_word.h"

/* Before the word `seen` is replaced: makes sure that its author, should it die now, is known to
 * have applied it. Returns false when the word has moved on meanwhile. */
static bool word_note(const struct region *region, unsigned device, uint64_t seen)
{
        struct region_charges *author;
        uint64_t noted;

        if (word_slot(seen) == 0 || word_slot(seen) == region->slot)
                return true; /* nobody's, or our own: it is in `held` */
        author = charges_of(region, word_slot(seen), device);
        if (number_of(atomic_load(&author->held)) == number_of(seen))
                return true;
        noted = atomic_load(&author->noted);
        /* Only if the word is still there after `noted` was read is the note not out of date. */
        if (atomic_load(&region->file->devices[device].word) != seen)
                return false;
        if (number_of(noted) != number_of(seen))
                atomic_compare_exchange_strong(&author->noted, &noted,
                                               pair_make(pair_upper(noted) + 1, number_of(seen)));
        return true;
}

/* Announces an operation; returns its number. */
static uint64_t intent_begin(struct region_charges *own, int64_t delta, uint64_t victim)
{
        uint64_t number = (number_of(atomic_load_explicit(&own->held, memory_order_relaxed)) + 1) &
                          REGION_NUMBER_MASK;
        uint64_t noted = atomic_load_explicit(&own->noted, memory_order_relaxed);

        /* A note of 2^14 operations ago must not be taken for one of this. */
        if (number_of(noted) == number)
                atomic_compare_exchange_strong(&own->noted, &noted,
                                               pair_make(pair_upper(noted) + 1, number ^ 1));
        atomic_store_explicit(&own->victim, victim, memory_order_relaxed);
        /* Whoever sees the word changed sees this too: the swap releases it. */
        atomic_store_explicit(&own->intent, pair_make((uint64_t)delta, number),
                              memory_order_release);
        return number;
}

static void intent_cancel(struct region_charges *own)
{
        uint64_t number = number_of(atomic_load_explicit(&own->held, memory_order_relaxed));

        atomic_store_explicit(&own->intent, pair_make(0, number), memory_order_release);
}

/* Changes the device's word by `delta` units in the name of our slot. -ENOMEM: over the limit. */
static int word_apply(struct region *region, unsigned device, int64_t delta, uint64_t limit_units,
                      uint64_t number)
{
        _Atomic uint64_t *word = &region->file->devices[device].word;
        uint64_t seen = atomic_load(word);

        for (;;) {
                uint64_t units = word_units(seen);
                if (delta > 0 && (units >= limit_units || (uint64_t)delta > limit_units - units))
                        return -ENOMEM;
                if (!word_note(region, device, seen)) {
                        seen = atomic_load(word);
                        continue;
                }
                uint64_t next = word_make(units_add(units, delta), region->slot, number);
                if (atomic_compare_exchange_strong(word, &seen, next))
                        return 0;
        }
}

static void kind_add(struct region_charges *own, enum region_kind kind, int64_t units)
{
        uint64_t bytes = atomic_load_explicit(&own->kinds[kind], memory_order_relaxed);

        atomic_store_explicit(&own->kinds[kind], bytes + ((uint64_t)units << REGION_UNIT_BITS),
                              memory_order_relaxed);
}

/* Under the lock: the charges have one writer. */
static int charges_change(struct region *region, unsigned device, enum region_kind kind,
                          int64_t delta, uint64_t limit_units)
{
        struct region_charges *own = charges_of(region, region->slot, device);

        uint64_t number = intent_begin(own, delta, 0);
        int r = word_apply(region, device, delta, limit_units, number);
        if (r < 0) {
                intent_cancel(own);
                return r;
        }
        uint64_t units = pair_upper(atomic_load_explicit(&own->held, memory_order_relaxed));
        atomic_store_explicit(&own->held, pair_make(units_add(units, delta), number),
                              memory_order_release);
        kind_add(own, kind, delta);
        region->own_units[device] += (uint64_t)delta;
        return 0;
}

static uint64_t units_of(uint64_t bytes)
{
        return bytes / REGION_UNIT_BYTES + (bytes % REGION_UNIT_BYTES != 0);
}

int region_charge(struct region *region, unsigned device, enum region_kind kind, uint64_t bytes,
                  uint64_t limit_bytes)
{
        uint64_t units = units_of(bytes), limit_units = limit_bytes / REGION_UNIT_BYTES;

        if (limit_units > REGION_UNITS_MAX)
                limit_units = REGION_UNITS_MAX;
        /* Refused already by what is used now: no lock to wait for. */
        uint64_t used = word_units(
                atomic_load_explicit(&region->file->devices[device].word, memory_order_relaxed));
        if (units > limit_units || used > limit_units - units)
                return -ENOMEM;
        brief_lock_take(&region->locks[device].lock);
        int r = charges_change(region, device, kind, (int64_t)units, limit_units);
        brief_lock_give(&region->locks[device].lock);
        return r;
}

void region_refund(struct region *region, unsigned device, enum region_kind kind, uint64_t bytes)
{
        brief_lock_take(&region->locks[device].lock);
        charges_change(region, device, kind, -(int64_t)units_of(bytes), 0);
        brief_lock_give(&region->locks[device].lock);
}

void region_rename(struct region *region, unsigned device, enum region_kind from,
                   enum region_kind to, uint64_t bytes)
{
        struct region_charges *own = charges_of(region, region->slot, device);
        int64_t units = (int64_t)units_of(bytes);

        if (from == to)
                return;
        brief_lock_take(&region->locks[device].lock);
        kind_add(own, from, -units);
        kind_add(own, to, units);
        brief_lock_give(&region->locks[device].lock);
}

uint64_t region_used_bytes(const struct region *region, unsigned device)
{
        return word_units(atomic_load(&region->file->devices[device].word)) << REGION_UNIT_BITS;
}

uint64_t region_held_bytes(const struct region *region, uint32_t slot, unsigned device)
{
        return pair_upper(atomic_load(&charges_of(region, slot, device)->held)) << REGION_UNIT_BITS;
}

static void charges_settle(const struct region *region, uint32_t slot, unsigned device)
{
        struct region_charges *charges = charges_of(region, slot, device);
        uint64_t held = atomic_load(&charges->held), intent = atomic_load(&charges->intent);

        if (number_of(intent) == number_of(held))
                return;
        if (!intent_was_applied(region, slot, device, number_of(intent))) {
                atomic_store(&charges->intent, pair_make(0, number_of(held)));
                return;
        }
        uint64_t victim = atomic_load(&charges->victim);
        if (victim_slot(victim)) {
                struct region_charges *dead = charges_of(region, victim_slot(victim), device);
                const uint64_t left = atomic_load(&dead->held);
                if (pair_upper(left) > victim_kept(victim))
                        atomic_store(&dead->held, pair_make(victim_kept(victim), number_of(left)));
                atomic_store(&charges->held, pair_make(pair_upper(held), number_of(intent)));
                return;
        }
        atomic_store(&charges->held,
                     pair_make(units_add(pair_upper(held), pair_delta(intent)), number_of(intent)));
}

void region_settle(struct region *region, uint32_t slot)
{
        for (unsigned d = 0; d < region->device_count; d++) {
                charges_settle(region, slot, d);
                charges_settle(region, slot, region_virtual(d));
        }
}

/* Takes the dead slot's units on one device back, all but `kept` of them, as an operation of ours. */
static void charges_take(struct region *region, uint32_t victim, unsigned device, uint64_t kept)
{
        struct region_charges *own = charges_of(region, region->slot, device);
        struct region_charges *dead = charges_of(region, victim, device);

        uint64_t held = atomic_load(&dead->held);
        if (pair_upper(held) <= kept)
                return;
        brief_lock_take(&region->locks[device].lock);
        int64_t delta = -(int64_t)(pair_upper(held) - kept);
        uint64_t number = intent_begin(own, delta, victim_make(victim, kept));
        word_apply(region, device, delta, 0, number);
        /* Dead in between? Our own reaper finds the victim in our intent and does these two. */
        atomic_store(&dead->held, pair_make(kept, number_of(held)));
        atomic_store(&own->held, pair_make(pair_upper(atomic_load(&own->held)), number));
        brief_lock_give(&region->locks[device].lock);
}

/* True: nothing is left of it. */
static bool charges_take_back(struct region *region, uint32_t victim, unsigned device,
                              uint64_t kept_bytes)
{
        struct region_charges *dead = charges_of(region, victim, device);

        charges_take(region, victim, device, units_of(kept_bytes));
        const uint64_t left = pair_upper(atomic_load(&dead->held));
        for (unsigned k = 0; k < REGION_KINDS; k++)
                atomic_store(&dead->kinds[k], k == REGION_OTHER ? left << REGION_UNIT_BITS : 0);
        return left == 0;
}

bool region_take_back(struct region *region, uint32_t victim)
{
        bool is_all = true;

        for (unsigned d = 0; d < region->device_count; d++) {
                const uint64_t kept_bytes = region->driver && region->driver->kept
                                                    ? region->driver->kept(region, victim, d)
                                                    : 0;
                is_all &= charges_take_back(region, victim, d, kept_bytes);
                is_all &= charges_take_back(region, victim, region_virtual(d), 0);
        }
        return is_all;
}
