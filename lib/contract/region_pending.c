/* SPDX-License-Identifier: Apache-2.0 */
/* region_pending: both times in one word, so that a process may be killed at any instruction. */
#include "region_pending.h"

#include "clock.h"
#include "region_compute.h"

/* 46 bits of 4 µs, nine years; 18 bits of 16 µs, four seconds. */
enum { SINCE_SHIFT = 12, CHARGED_SHIFT = 14, CHARGED_BITS = 18 };
#define CHARGED_MOST ((UINT64_C(1) << CHARGED_BITS) - 1)

#define INTERVAL_LEAST_NS (500 * NS_PER_US)
#define INTERVAL_MOST_NS  (5 * NS_PER_MS)
enum { INTERVAL_PART = 8 }; /* of the age */

uint64_t region_pending_interval_ns(uint64_t age_ns)
{
        const uint64_t part_ns = age_ns / INTERVAL_PART;

        if (part_ns < INTERVAL_LEAST_NS)
                return INTERVAL_LEAST_NS;
        return part_ns < INTERVAL_MOST_NS ? part_ns : INTERVAL_MOST_NS;
}

static uint64_t word_make(uint64_t since_ns, uint64_t charged_ns)
{
        const uint64_t charged = charged_ns >> CHARGED_SHIFT;

        return since_ns >> SINCE_SHIFT << CHARGED_BITS |
               (charged < CHARGED_MOST ? charged : CHARGED_MOST);
}

void region_pending_note(struct region_slot *slot, unsigned device, uint64_t since_ns,
                         uint64_t charged_ns, uint64_t seen_ns)
{
        struct region_pending *pending = &slot->pendings[device];

        /* The word last where it begins, first where it ends: it never stands beside another's time. */
        if (since_ns)
                atomic_store_explicit(&pending->seen_ns, seen_ns, memory_order_relaxed);
        atomic_store_explicit(&pending->word, since_ns ? word_make(since_ns, charged_ns) : 0,
                              memory_order_release);
}

/* What the slot says is the container's own word: it harms nobody else, and is bounded. */
static void charge_one(struct region_compute *compute, uint64_t word, uint64_t seen_ns,
                       uint64_t now_ns)
{
        const uint64_t since_ns = word >> CHARGED_BITS << SINCE_SHIFT;
        const uint64_t charged_ns = (word & CHARGED_MOST) << CHARGED_SHIFT;

        if (seen_ns < since_ns || seen_ns > now_ns)
                seen_ns = now_ns;
        if (since_ns >= now_ns)
                return;
        /* Somewhere before it would have looked again: in the middle, over many. */
        uint64_t end_ns = seen_ns + region_pending_interval_ns(seen_ns - since_ns) / 2;
        if (end_ns > now_ns)
                end_ns = now_ns;
        const uint64_t used_ns = region_compute_cover(compute, since_ns, end_ns);
        atomic_fetch_add_explicit(&compute->gpu_ns, used_ns, memory_order_relaxed);
        if (used_ns > charged_ns)
                region_compute_add(compute, end_ns, used_ns - charged_ns);
}

void region_pending_charge(struct region_file *file, struct region_slot *slot, uint64_t now_ns)
{
        for (unsigned d = 0; d < REGION_DEVICES; d++) {
                struct region_pending *pending = &slot->pendings[d];
                const uint64_t seen_ns = atomic_load(&pending->seen_ns);
                const uint64_t word = atomic_load(&pending->word);

                if (word && atomic_exchange(&pending->word, 0) == word)
                        charge_one(&file->computes[d], word, seen_ns, now_ns);
        }
}
