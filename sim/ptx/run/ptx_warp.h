/* SPDX-License-Identifier: Apache-2.0 */
/* A warp at work: 32 lanes that run one instruction together while their paths agree. */
#pragma once

#include <string.h>

#include "ptx_ir.h"

#define BARRIERS   16u
#define CACHE_WAYS 16u

/* Where the lanes are, not yet reached by a diverged group, is the key: (depth, pc). */
struct frame {
        struct frame *caller;
        const struct function *function;
        const struct insn *call; /* the call that made it, NULL for the kernel */
        uint32_t depth, lanes;
        uint32_t return_pc;
        uint32_t memory_base; /* its parameters and .local variables in the lane's stack */
        unsigned char rows[] __attribute__((aligned(64)));
};

/* A range of device memory resolved once; one way per instruction so that two streams of accesses
 * do not evict each other. */
struct range {
        const struct insn *user;
        uint64_t lo, hi;
        unsigned char *host;
};

struct worker {
        struct run *run;
        struct range cache[CACHE_WAYS];
        uint64_t instructions;
};

struct barrier {
        uint32_t arrived, expected; /* threads; expected 0 = all that live */
        uint32_t ones;              /* of bar.red: true predicates */
};

struct block {
        struct run *run;
        struct worker *worker;
        struct warp *warps;
        uint32_t warp_count, live; /* threads that have not exited */
        uint32_t index[3];
        uint64_t linear;
        unsigned char *shared;
        uint32_t shared_bytes;
        uint64_t clock_start_ns,
                clock_ns; /* clock_ns: the latest of its warps at the last barrier */
        struct barrier barriers[BARRIERS];
        struct block *next;
};

struct warp {
        unsigned char *base[2];
        const struct insn *code;
        uint32_t pc, merge_pc; /* reaching merge_pc means: choose lanes anew */
        uint32_t exec, active;
        struct frame *frame;
        struct block *block;
        uint32_t alive, at_barrier, at_sync, passed;
        bool is_forced, is_rotating;
        uint32_t index, fuel, carry;
        uint64_t clock_ns;
        unsigned char *stack; /* all lanes' memory, lane after lane */
        uint32_t lane_pc[LANES];
        struct frame *lane_frame[LANES];
        uint8_t lane_barrier[LANES];
        uint32_t lane_result[LANES]; /* of bar.red: how many; bit 31: all */
        struct frame *pool;          /* the kernel's own frame, kept between blocks */
};

/* One launch, shared by its workers. */
struct run {
        const struct ptx_launch *launch;
        const struct ptx_kernel *kernel;
        uint32_t shared_bytes, stack_bytes;
        uint32_t threads, warps_per_block;
        uint64_t block_count;
        unsigned char *params;
        uint32_t fuel;            /* instructions before another group, warp or block runs */
        uint64_t grid_memory[32]; /* what grid-wide barriers count in */
        uint64_t next_block;      /* atomic */
        uint64_t instructions;    /* atomic */
        bool is_stopped;          /* atomic */
        struct run_state *state;  /* ptx_launch.c: lock, outcome, wave clocks */
};

static inline void *row(const struct warp *w, struct slot slot)
{
        return w->base[slot.base] + slot.offset;
}

static inline uint32_t lane_next(uint32_t *mask)
{
        uint32_t lane = (uint32_t)__builtin_ctz(*mask);

        *mask &= *mask - 1;
        return lane;
}

static inline uint32_t predicate_get(const struct warp *w, struct slot slot)
{
        return *(const uint32_t *)row(w, slot);
}

static inline void predicate_put(struct warp *w, struct slot slot, uint32_t bits)
{
        uint32_t *p = row(w, slot);

        *p = (*p & ~w->exec) | (bits & w->exec);
}

/* A lane's bits whatever the row's width (predicates give 0 or 1). */
static inline uint64_t lane_get(const struct warp *w, struct slot slot, uint32_t lane)
{
        const unsigned char *p = row(w, slot);

        switch (slot.width) {
        case 0:
                return *(const uint32_t *)p >> lane & 1;
        case 2:
                return ((const uint16_t *)p)[lane];
        case 4:
                return ((const uint32_t *)p)[lane];
        case 8:
                return ((const uint64_t *)p)[lane];
        default:
                return ((const uint64_t *)p)[2 * lane];
        }
}

static inline void lane_put(struct warp *w, struct slot slot, uint32_t lane, uint64_t bits)
{
        unsigned char *p = row(w, slot);

        switch (slot.width) {
        case 0:
                *(uint32_t *)p = (*(uint32_t *)p & ~(1u << lane)) | (uint32_t)(bits & 1) << lane;
                break;
        case 2:
                ((uint16_t *)p)[lane] = (uint16_t)bits;
                break;
        case 4:
                ((uint32_t *)p)[lane] = (uint32_t)bits;
                break;
        case 8:
                ((uint64_t *)p)[lane] = bits;
                break;
        default: /* the upper half is zeroed */
                ((uint64_t *)p)[2 * lane] = bits;
                ((uint64_t *)p)[2 * lane + 1] = 0;
        }
}

/* ptx_warp.c */
void warp_reset(struct warp *w, struct block *block, uint32_t index);
bool warp_run(struct warp *w); /* false: every lane waits for a barrier or has exited */
void warp_release(struct warp *w);
void warp_split(struct warp *w, uint32_t lanes, uint32_t pc); /* these lanes go on at pc */
void warp_reselect(struct warp *w);                           /* after this instruction */
void warp_exit(struct warp *w, uint32_t lanes);
/* Whether all lanes of `members` are here; if not, the present ones wait and run again later. */
bool warp_gather(struct warp *w, uint32_t members);
struct frame *frame_new(const struct function *function);

/* ptx_launch.c: ends the launch; the first fault wins. */
void run_fault(struct warp *w, enum ptx_status status, uint64_t address, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* ptx_memory.c: the host address of a lane's memory in the instruction's space; NULL after a fault. */
void *memory_reach(struct warp *w, const struct insn *i, uint32_t lane, uint64_t address,
                   uint32_t length, bool is_write);

/* ptx_block.c */
void block_recheck(struct block *block); /* a thread left: barriers may be complete */
