/* SPDX-License-Identifier: Apache-2.0 */
/* cost: how long work takes on the device, learned: per function, grid and block, and per graph. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { COST_BITS = 14, COSTS = 1 << COST_BITS };
#define COST_UNKNOWN_NS UINT32_MAX

struct cost {
        _Atomic uint64_t key; /* 0: free */
        _Atomic uint32_t ns;
};
extern struct cost cost_table[COSTS]; /* 0 is nothing's and never fits */

/* A name for this work. Two kinds of work with one name would merely share an estimate. */
static inline uint64_t cost_key(const void *handle, uint64_t grid_xy, uint64_t grid_z,
                                uint64_t block)
{
        uint64_t key = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) +
                       grid_xy * UINT64_C(0xbf58476d1ce4e5b9) +
                       (grid_z << 40 ^ block) * UINT64_C(0x94d049bb133111eb);

        return key ^ key >> 32; /* the upper bits are the better ones */
}

static inline uint64_t cost_key_kernel(const void *function, unsigned gx, unsigned gy, unsigned gz,
                                       unsigned bx, unsigned by, unsigned bz)
{
        return cost_key(function, (uint64_t)gy << 32 | gx, gz,
                        (uint64_t)bz << 32 | (uint64_t)by << 16 | bx);
}

/* A copy or fill by this function; sizes within an eighth of each other take as long. */
static inline uint64_t cost_key_move(const void *function, uint64_t bytes)
{
        enum { STEPS = 8 };
        unsigned halvings = 0;

        for (; bytes >= 2 * STEPS; bytes >>= 1)
                halvings++;
        return cost_key(function, halvings * STEPS + bytes, 0, 2);
}

/* The key of the same work under another name than the handle it was made with. */
static inline uint64_t cost_key_renamed(uint64_t key, const void *handle, uint64_t name)
{
        const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), plain = key ^ key >> 32;

        key = plain + (name - (uint64_t)(uintptr_t)handle) * factor;
        return key ^ key >> 32;
}

static inline uint64_t cost_key_graph(const void *instance)
{
        return cost_key(instance, 0, 0, 1);
}

/* Its index in the table, made if need be; COST_UNKNOWN_NS until something is learned. Never 0. */
unsigned cost_find(uint64_t key);
/* It took this long: an average that follows, and a jump where it is far too low. `is_upper`: at most
 * this long, because other work was in the way. */
void cost_learn(unsigned index, uint64_t ns, bool is_upper);
/* The key by which other processes of the container know it; 0: none. */
void cost_share(unsigned index, uint64_t key);
uint64_t cost_shared(unsigned index);
/* The handle behind it is gone, and may come back as something else. */
void cost_forget(uint64_t key);
