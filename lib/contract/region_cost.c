/* SPDX-License-Identifier: Apache-2.0 */
/* region_cost: a few entries for each key; what finds none replaces the first. */
#include "region_cost.h"

enum { PROBES = 4, FOLLOWED = 16 };
#define COST_MOST_NS UINT64_C(4000000000) /* more is nonsense, or no estimate's business */

static unsigned index_of(uint64_t key, unsigned probe)
{
        return (unsigned)((key >> 40) + probe) % REGION_COSTS;
}

uint64_t region_cost_get(const struct region_file *file, uint64_t key)
{
        for (unsigned i = 0; key && i < PROBES; i++) {
                const struct region_cost *cost = &file->costs[index_of(key, i)];
                if (atomic_load_explicit(&cost->key, memory_order_acquire) != key)
                        continue;
                const uint64_t ns = atomic_load_explicit(&cost->ns, memory_order_relaxed);
                return ns < COST_MOST_NS ? ns : COST_MOST_NS;
        }
        return 0;
}

/* Its entry, or one for it. */
static struct region_cost *entry_of(struct region_file *file, uint64_t key)
{
        for (unsigned i = 0; i < PROBES; i++) {
                struct region_cost *cost = &file->costs[index_of(key, i)];
                const uint64_t seen = atomic_load_explicit(&cost->key, memory_order_relaxed);
                if (seen == key || seen == 0)
                        return cost;
        }
        return &file->costs[index_of(key, 0)];
}

void region_cost_put(struct region_file *file, uint64_t key, uint64_t ns)
{
        struct region_cost *cost = entry_of(file, key);
        const uint64_t before = atomic_load_explicit(&cost->ns, memory_order_relaxed);
        const uint64_t apart = before > ns ? before - ns : ns - before;

        /* A line that every process reads is not written for nothing. */
        if (atomic_load_explicit(&cost->key, memory_order_relaxed) == key && apart <= ns / FOLLOWED)
                return;
        atomic_store_explicit(&cost->ns, ns, memory_order_relaxed);
        atomic_store_explicit(&cost->key, key, memory_order_release);
}
