/* SPDX-License-Identifier: Apache-2.0 */
/* cost: a table of estimates, shared by the threads. A lost update is an estimate that is a little
 * older; nothing here is exact, and what was charged wrongly is corrected by what is measured. */
#include "cost.h"

enum { PROBES = 8, FOLLOW = 10 }; /* α = 1/10 */
enum { HELD_UP_NS = 32000000, HELD_UP = 4 };

struct cost cost_table[COSTS];
static _Atomic uint64_t cost_keys[COSTS]; /* that are shared */

static unsigned index_of(uint64_t key, unsigned probe)
{
        unsigned index = (unsigned)((key >> (64 - COST_BITS)) + probe) % COSTS;

        return index ? index : 1;
}

static void entry_take(unsigned index, uint64_t key)
{
        /* Entry 0 too, before any thread can pass by it: set by the compiler, it would make the whole
         * table a part of the file. */
        atomic_store_explicit(&cost_table[0].ns, COST_UNKNOWN_NS, memory_order_relaxed);
        atomic_store_explicit(&cost_table[index].ns, COST_UNKNOWN_NS, memory_order_relaxed);
        atomic_store_explicit(&cost_keys[index], 0, memory_order_relaxed);
        atomic_store_explicit(&cost_table[index].key, key, memory_order_release);
}

unsigned cost_find(uint64_t key)
{
        for (unsigned i = 0; i < PROBES; i++) {
                unsigned index = index_of(key, i);
                uint64_t seen = atomic_load_explicit(&cost_table[index].key, memory_order_acquire);
                if (seen == key)
                        return index;
                if (seen == 0) {
                        entry_take(index, key);
                        return index;
                }
        }
        entry_take(index_of(key, 0),
                   key); /* full here: the newest is the likeliest to come again */
        return index_of(key, 0);
}

void cost_learn(unsigned index, uint64_t ns, bool is_upper)
{
        uint32_t now = ns < COST_UNKNOWN_NS ? (uint32_t)ns : COST_UNKNOWN_NS - 1;
        uint32_t before = atomic_load_explicit(&cost_table[index].ns, memory_order_relaxed);

        if (is_upper && now > before)
                return;
        /* Work this long that now takes a fraction was held up once: by page faults, most likely. An
         * average would remember that for too many launches. */
        if (before != COST_UNKNOWN_NS && before > HELD_UP_NS && now < before / HELD_UP)
                before /= HELD_UP;
        /* What was only known to take no longer was guessed far too high. */
        if (is_upper && before != COST_UNKNOWN_NS && now < before / 2)
                before /= 2;
        if (before != COST_UNKNOWN_NS && now / 2 <= before)
                now = (uint32_t)(((uint64_t)before * (FOLLOW - 1) + now) / FOLLOW);
        atomic_store_explicit(&cost_table[index].ns, now ? now : 1, memory_order_relaxed);
}

void cost_share(unsigned index, uint64_t key)
{
        atomic_store_explicit(&cost_keys[index], key, memory_order_relaxed);
}

uint64_t cost_shared(unsigned index)
{
        return atomic_load_explicit(&cost_keys[index], memory_order_relaxed);
}

void cost_forget(uint64_t key)
{
        for (unsigned i = 0; i < PROBES; i++) {
                unsigned index = index_of(key, i);
                if (atomic_load_explicit(&cost_table[index].key, memory_order_acquire) == key)
                        atomic_store(&cost_table[index].ns, COST_UNKNOWN_NS);
        }
}
