/* A process's part in its container's turns on one GPU: the tenant's side of gpu_page.h.
 *
 *     gpu_turn_begin()      before the first work is submitted: waits for the turn
 *     gpu_turn_is_on()      again every 100–200 µs of work: may more be submitted?
 *     gpu_turn_end()        when all that was submitted is done: the turn is over, or there is
 *                           nothing more to do for GPU_TURN_IDLE_NS
 *
 * Alone on the GPU, none of them enters the kernel. One thread of the process at a time begins or
 * ends (the caller's lock); any thread may ask. Without an arbiter (none yet, killed, stopped)
 * beginning takes at most GPU_STALE_NS and all goes on by the process's own debt. */
#pragma once

#include <stdbool.h>

#include "gpu_page.h"

/* Idle for longer: the turn is better given to others. */
#define GPU_TURN_IDLE_NS UINT64_C(150000)

/* Written by the thread that begins; those that ask meanwhile see the turn before or this one. */
struct gpu_turn {
        struct gpu_grant_file *grants; /* read-only */
        struct gpu_want_file *wants;
        const struct gpu_grant *grant;
        struct gpu_want *want;
        _Atomic(struct gpu_lane *) lane; /* NULL: not joined, or all were taken */
        uint32_t pid;                    /* whose lane it is: a child takes one of its own */
        _Atomic uint32_t number;         /* the grant's word when the turn began */
        /* Without an arbiter: when to look for one again; 0: there is one. */
        _Atomic uint64_t until_ns;
};

/* Maps the pages of the device at this place in the share. The caller closes it. */
int gpu_turn_open(const char *grant_path, const char *want_path, unsigned device,
                  struct gpu_turn *ret_turn, struct err *e);
/* Leaves the turn, whatever its state. */
void gpu_turn_close(struct gpu_turn *turn);

/* Waits until this process may submit, and marks it active. True: the token was elsewhere meanwhile
 * (other tenants ran, and may have pushed managed memory off the card). Async-signal-unsafe; never
 * call it for a stream under capture. */
bool gpu_turn_begin(struct gpu_turn *turn);

/* May more be submitted? False: drain, then gpu_turn_end() and, if there is more, gpu_turn_begin().
 * Two loads and a comparison while the answer is yes. */
bool gpu_turn_look(struct gpu_turn *turn, uint64_t now_ns);
static inline bool gpu_turn_is_on(struct gpu_turn *turn, uint64_t now_ns)
{
        return (atomic_load_explicit(&turn->grant->turn, memory_order_relaxed) ==
                        atomic_load_explicit(&turn->number, memory_order_relaxed) &&
                now_ns < atomic_load_explicit(&turn->grant->deadline_ns, memory_order_relaxed)) ||
               gpu_turn_look(turn, now_ns);
}

/* When the turn ends: work that cannot be done by then had better wait. GPU_NO_DEADLINE: not known. */
uint64_t gpu_turn_deadline_ns(const struct gpu_turn *turn);
/* How much may be submitted and not done; default_ns where no arbiter has a say. */
uint64_t gpu_turn_in_flight_ns(const struct gpu_turn *turn, uint64_t default_ns);

/* Nothing of this process is on the GPU any more. `wants_more`: it would go on at once. */
void gpu_turn_end(struct gpu_turn *turn, bool wants_more);

/* What the container's work touches, wherever it lies now. */
void gpu_turn_note_memory(struct gpu_turn *turn, uint64_t resident_bytes);
/* What was measured: GPU time of this process so far, and what it has submitted that is not done. */
void gpu_turn_note(struct gpu_turn *turn, uint64_t busy_ns, uint64_t in_flight_ns);
