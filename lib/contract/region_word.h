/* SPDX-License-Identifier: Apache-2.0 */
/* region_word: the words of the region, taken apart and put together. For the region's own files. */
#pragma once

#include "region.h"

static inline uint64_t word_make(uint64_t units, uint64_t slot, uint64_t number)
{
        return units << (REGION_SLOT_BITS + REGION_NUMBER_BITS) | slot << REGION_NUMBER_BITS |
               number;
}

static inline uint64_t word_units(uint64_t word)
{
        return word >> (REGION_SLOT_BITS + REGION_NUMBER_BITS);
}

static inline uint32_t word_slot(uint64_t word)
{
        return (uint32_t)(word >> REGION_NUMBER_BITS & REGION_SLOT_MASK);
}

static inline uint64_t number_of(uint64_t word)
{
        return word & REGION_NUMBER_MASK;
}

/* {units, number} of `held`, {delta, number} of `intent`, {count, number} of `noted`. */
static inline uint64_t pair_make(uint64_t upper, uint64_t number)
{
        return upper << REGION_NUMBER_BITS | number;
}

static inline uint64_t pair_upper(uint64_t pair)
{
        return pair >> REGION_NUMBER_BITS;
}

static inline int64_t pair_delta(uint64_t pair)
{
        return (int64_t)pair >> REGION_NUMBER_BITS;
}

static inline struct region_charges *charges_of(const struct region *region, uint32_t slot,
                                                unsigned device)
{
        return &region->file->slots[slot].charges[device];
}

/* {kept units, slot} of `victim`. */
static inline uint64_t victim_make(uint32_t slot, uint64_t kept_units)
{
        return kept_units << REGION_SLOT_BITS | slot;
}

static inline uint32_t victim_slot(uint64_t victim)
{
        return (uint32_t)(victim & REGION_SLOT_MASK);
}

static inline uint64_t victim_kept(uint64_t victim)
{
        return victim >> REGION_SLOT_BITS;
}

/* Written by hand, a region may hold less than is given back: it never goes round. */
static inline uint64_t units_add(uint64_t units, int64_t delta)
{
        return delta < 0 && units < (uint64_t)-delta ? 0 : units + (uint64_t)delta;
}

/* Was the slot's last intent applied? */
static inline bool intent_was_applied(const struct region *region, uint32_t slot, unsigned device,
                                      uint64_t number)
{
        uint64_t word = atomic_load(&region->file->devices[device].word);

        if (word_slot(word) == slot)
                return number_of(word) == number;
        return number_of(atomic_load(&charges_of(region, slot, device)->noted)) == number;
}
