/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a warp: picks the lanes that share a pc, runs them until their paths part or meet. */
#include "ptx_warp.h"

#include <stdlib.h>

struct frame *frame_new(const struct function *function)
{
        size_t bytes = (sizeof(struct frame) + function->frame_bytes + 63) & ~(size_t)63;
        struct frame *frame = aligned_alloc(64, bytes);

        if (frame) {
                memset(frame, 0, bytes);
                frame->function = function;
        }
        return frame;
}

/* Frames form a tree whose leaves the lanes are in: free each once, leaves first. */
static void frames_free(struct warp *w)
{
        for (uint32_t lane = 0; lane < LANES; lane++) {
                struct frame *frame = w->lane_frame[lane];

                while (frame && frame != w->pool) {
                        struct frame *caller = frame->caller;

                        frame->lanes &= ~(1u << lane);
                        if (frame->lanes == 0)
                                free(frame);
                        frame = caller;
                }
                w->lane_frame[lane] = NULL;
        }
}

void warp_release(struct warp *w)
{
        frames_free(w);
        free(w->pool);
        free(w->stack);
        w->pool = NULL;
        w->stack = NULL;
}

void warp_reset(struct warp *w, struct block *block, uint32_t index)
{
        struct frame *frame = w->pool;
        uint32_t threads = block->run->threads - index * LANES;

        frames_free(w);
        memset(frame->rows, 0, frame->function->frame_bytes);
        w->block = block;
        w->index = index;
        w->alive = threads >= LANES ? ALL_LANES : (1u << threads) - 1;
        frame->lanes = w->alive;
        w->at_barrier = w->at_sync = w->passed = w->carry = 0;
        w->is_forced = w->is_rotating = false;
        w->clock_ns = 0;
        for (uint32_t lane = 0; lane < LANES; lane++) {
                w->lane_pc[lane] = 0;
                w->lane_frame[lane] = w->alive >> lane & 1 ? frame : NULL;
        }
}

void warp_reselect(struct warp *w)
{
        w->merge_pc = 0;
}

void warp_split(struct warp *w, uint32_t lanes, uint32_t pc)
{
        uint32_t mask = lanes;

        while (mask)
                w->lane_pc[lane_next(&mask)] = pc;
        w->active &= ~lanes;
        warp_reselect(w);
}

void warp_exit(struct warp *w, uint32_t lanes)
{
        uint32_t mask = lanes;

        while (mask) {
                uint32_t lane = lane_next(&mask);
                struct frame *frame = w->lane_frame[lane];

                while (frame && frame != w->pool) {
                        struct frame *caller = frame->caller;

                        frame->lanes &= ~(1u << lane);
                        if (!frame->lanes)
                                free(frame);
                        frame = caller;
                }
                w->lane_frame[lane] = NULL;
        }
        w->alive &= ~lanes;
        w->active &= ~lanes;
        w->block->live -= (uint32_t)__builtin_popcount(lanes);
        block_recheck(w->block);
        warp_reselect(w);
}

static bool is_deeper(const struct warp *w, uint32_t lane, uint32_t than)
{
        uint32_t a = w->lane_frame[lane]->depth, b = w->lane_frame[than]->depth;

        return a != b ? a > b : w->lane_pc[lane] < w->lane_pc[than];
}

/* The lane furthest behind leads; a group that used up its fuel lets another one go. */
static uint32_t leader_choose(struct warp *w, uint32_t runnable)
{
        uint32_t mask = runnable, leader = (uint32_t)__builtin_ctz(runnable);

        if (w->is_rotating) {
                uint32_t others = runnable & ~w->active;

                w->is_rotating = false;
                if (others) {
                        uint32_t later = others & ~(w->active | (w->active - 1));

                        return (uint32_t)__builtin_ctz(later ? later : others);
                }
        }
        while (mask) {
                uint32_t lane = lane_next(&mask);

                if (is_deeper(w, lane, leader))
                        leader = lane;
        }
        return leader;
}

static void group_start(struct warp *w, uint32_t runnable, uint32_t leader)
{
        struct frame *frame = w->lane_frame[leader];
        uint32_t mask = runnable, pc = w->lane_pc[leader];

        w->active = 0;
        w->merge_pc = UINT32_MAX;
        while (mask) {
                uint32_t lane = lane_next(&mask);

                if (w->lane_frame[lane] != frame)
                        continue;
                if (w->lane_pc[lane] == pc)
                        w->active |= 1u << lane;
                else if (w->lane_pc[lane] > pc && w->lane_pc[lane] < w->merge_pc)
                        w->merge_pc = w->lane_pc[lane];
        }
        w->frame = frame;
        w->pc = pc;
        w->base[0] = frame->rows;
        w->base[1] = frame->function->constants;
        w->code = frame->function->code;
}

static bool group_choose(struct warp *w)
{
        uint32_t runnable = w->alive & ~w->at_barrier & ~w->at_sync;

        if (!runnable) {
                if (!(w->alive & w->at_sync))
                        return false;
                /* Nobody else can come: those who wait for each other go on as they are. */
                w->is_forced = true;
                runnable = w->alive & w->at_sync;
                w->at_sync = 0;
        }
        group_start(w, runnable, leader_choose(w, runnable));
        return true;
}

static void group_store(struct warp *w)
{
        uint32_t mask = w->active;

        while (mask)
                w->lane_pc[lane_next(&mask)] = w->pc;
}

/* Runs the chosen lanes. They stop where others wait for them, where their paths part, or when
 * their fuel is used up. */
static void group_run(struct warp *w)
{
        uint64_t count = 0;

        while (w->pc < w->merge_pc && w->fuel) {
                const struct insn *i = &w->code[w->pc++];

                w->exec = w->active;
                w->fuel--;
                if (i->guard != NO_SLOT) {
                        uint32_t guard = *(const uint32_t *)(w->base[0] + i->guard);

                        w->exec &= i->is_guard_negated ? ~guard : guard;
                        if (!w->exec) {
                                count++;
                                continue;
                        }
                }
                count += (uint64_t)__builtin_popcount(w->exec);
                i->run(w, i);
        }
        w->block->worker->instructions += count;
}

bool warp_run(struct warp *w)
{
        w->fuel = w->block->run->fuel;
        while (w->fuel && !__atomic_load_n(&w->block->run->is_stopped, __ATOMIC_RELAXED)) {
                if (!group_choose(w))
                        return false;
                group_run(w);
                group_store(w);
        }
        w->is_rotating = true;
        return w->alive != 0;
}

bool warp_gather(struct warp *w, uint32_t members)
{
        uint32_t waiting = 0, mask = w->at_sync & w->alive, here = w->pc - 1;

        while (mask) {
                uint32_t lane = lane_next(&mask);

                if (w->lane_frame[lane] == w->frame && w->lane_pc[lane] == here)
                        waiting |= 1u << lane;
        }
        if (w->is_forced || (members & w->alive & ~(w->exec | waiting)) == 0) {
                w->is_forced = false;
                w->exec |= waiting;
                w->active |= waiting;
                w->at_sync &= ~waiting;
                return true;
        }
        w->at_sync |= w->exec;
        warp_split(w, w->exec, here);
        return false;
}
