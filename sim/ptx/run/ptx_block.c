/* SPDX-License-Identifier: Apache-2.0 */
/* A block: shared memory, warps, barriers. */
#include "ptx_block.h"

#include <stdlib.h>

#include "ptx_run.h"

static bool warp_make(struct warp *w, const struct run *run)
{
        w->pool = frame_new(run->kernel->function);
        w->stack = run->stack_bytes ? calloc(LANES, run->stack_bytes) : NULL;
        return w->pool && (w->stack || !run->stack_bytes);
}

void block_free(struct block *block)
{
        if (!block)
                return;
        for (uint32_t n = 0; n < block->warp_count; n++)
                warp_release(&block->warps[n]);
        free(block->warps);
        free(block->shared);
        free(block);
}

struct block *block_new(struct run *run)
{
        struct block *block = calloc(1, sizeof *block);
        size_t shared = ((size_t)run->shared_bytes + 64) & ~(size_t)15;
        bool is_made;

        if (!block)
                return NULL;
        block->run = run;
        block->warps = calloc(run->warps_per_block, sizeof *block->warps);
        block->shared = aligned_alloc(16, shared);
        block->shared_bytes = run->shared_bytes;
        is_made = block->warps && block->shared;
        for (uint32_t n = 0; n < run->warps_per_block && is_made; n++) {
                block->warp_count = n + 1;
                is_made = warp_make(&block->warps[n], run);
        }
        if (is_made)
                return block;
        block_free(block);
        return NULL;
}

void block_start(struct block *block, struct worker *worker, uint64_t linear)
{
        const uint32_t *grid = block->run->launch->grid;

        block->worker = worker;
        block->linear = linear;
        block->index[0] = (uint32_t)(linear % grid[0]);
        block->index[1] = (uint32_t)(linear / grid[0] % grid[1]);
        block->index[2] = (uint32_t)(linear / grid[0] / grid[1]);
        block->live = block->run->threads;
        block->next = NULL;
        memset(block->barriers, 0, sizeof block->barriers);
        memset(block->shared, 0, block->shared_bytes);
        for (uint32_t n = 0; n < block->warp_count; n++)
                warp_reset(&block->warps[n], block, n);
}

uint64_t block_clock(const struct block *block)
{
        uint64_t latest = 0;

        for (uint32_t n = 0; n < block->warp_count; n++)
                if (block->warps[n].clock_ns > latest)
                        latest = block->warps[n].clock_ns;
        return latest;
}

/* Lets everyone at the barrier go; nobody leaves it before the latest clock. */
static void barrier_open(struct block *block, uint32_t id)
{
        struct barrier *barrier = &block->barriers[id];
        uint64_t latest = block_clock(block);
        bool is_unanimous = barrier->ones == barrier->arrived;

        for (uint32_t n = 0; n < block->warp_count; n++) {
                struct warp *w = &block->warps[n];
                uint32_t mask = w->at_barrier;

                while (mask) {
                        uint32_t lane = lane_next(&mask);

                        if (w->lane_barrier[lane] != id)
                                continue;
                        w->at_barrier &= ~(1u << lane);
                        w->passed |= 1u << lane;
                        w->lane_result[lane] = barrier->ones | (uint32_t)is_unanimous << 31;
                        w->clock_ns = latest;
                }
        }
        *barrier = (struct barrier){ 0 };
}

static bool barrier_is_full(const struct block *block, const struct barrier *barrier)
{
        if (!barrier->arrived)
                return false;
        return barrier->arrived >= (barrier->expected ? barrier->expected : block->live);
}

void block_recheck(struct block *block)
{
        for (uint32_t id = 0; id < BARRIERS; id++)
                if (barrier_is_full(block, &block->barriers[id]))
                        barrier_open(block, id);
}

void block_arrive(struct warp *w, uint32_t id, uint32_t expected, uint32_t ones, bool is_waiting)
{
        struct barrier *barrier = &w->block->barriers[id];
        uint32_t lanes = w->exec, mask = lanes;

        barrier->arrived += (uint32_t)__builtin_popcount(lanes);
        barrier->ones += (uint32_t)__builtin_popcount(ones & lanes);
        barrier->expected = expected;
        if (is_waiting) {
                while (mask)
                        w->lane_barrier[lane_next(&mask)] = (uint8_t)id;
                w->at_barrier |= lanes;
                warp_split(w, lanes, w->pc - 1); /* runs again to take the result */
        }
        if (barrier_is_full(w->block, barrier))
                barrier_open(w->block, id);
}

/* A counted barrier counts whole warps: the missing lanes of a partial one complete it. */
static bool partial_open(struct block *block)
{
        for (uint32_t id = 0; id < BARRIERS; id++) {
                struct barrier *barrier = &block->barriers[id];
                uint32_t warps = 0;

                for (uint32_t n = 0; n < block->warp_count; n++) {
                        const struct warp *w = &block->warps[n];
                        uint32_t mask = w->at_barrier, here = 0;

                        while (mask)
                                here |= w->lane_barrier[lane_next(&mask)] == id;
                        warps += here;
                }
                if (warps && barrier->expected && warps * LANES >= barrier->expected) {
                        barrier_open(block, id);
                        return true;
                }
        }
        return false;
}

enum block_state block_step(struct block *block)
{
        bool has_moved = false;

        for (uint32_t n = 0; n < block->warp_count && !run_is_stopped(block->run); n++) {
                struct warp *w = &block->warps[n];

                if (!(w->alive & ~w->at_barrier))
                        continue;
                has_moved = true;
                warp_run(w);
                run_count(block->run, block->worker, block);
        }
        if (block->live == 0 || run_is_stopped(block->run))
                return BLOCK_DONE;
        if (!has_moved && !partial_open(block))
                return BLOCK_STUCK;
        return BLOCK_RUNNING;
}
