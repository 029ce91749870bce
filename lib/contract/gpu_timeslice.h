/* SPDX-License-Identifier: Apache-2.0 */
/* A process's part in its container's time slices on one GPU: the tenant's side of gpu_page.h.
 *
 *     gpu_timeslice_begin()   before the first work is submitted: waits for the time slice
 *     gpu_timeslice_is_on()   again every 100–200 µs of work: may more be submitted?
 *     gpu_timeslice_end()     when all that was submitted is done: the time slice is over, or there is
 *                             nothing more to do for GPU_TIMESLICE_IDLE_NS
 *
 * Alone on the GPU, none of them enters the kernel. One thread of the process at a time begins or
 * ends (the caller's lock); any thread may ask. Without an arbiter (none yet, killed, stopped)
 * beginning takes at most GPU_STALE_NS and all goes on by the process's own debt. Where a container has more
 * processes at work than there are slots, those without one wait for one. */
#pragma once

#include <stdbool.h>

#include "gpu_page.h"

/* Idle for longer: the time slice is better given to others. */
#define GPU_TIMESLICE_IDLE_NS UINT64_C(150000)

/* Written by the thread that begins; those that ask meanwhile see the one before or this one. */
struct gpu_timeslice {
        struct gpu_grant_file *grants; /* read-only */
        struct gpu_want_file *wants;
        const struct gpu_grant *grant;
        struct gpu_want *want;
        _Atomic(struct gpu_slot *) slot; /* NULL: not joined, all are taken, or left to others */
        uint32_t pid;                    /* whose slot it is: a child takes one of its own */
        _Atomic uint32_t number;         /* the grant's word when the time slice began */
        /* Without an arbiter: when to look for one again; 0: there is one. */
        _Atomic uint64_t until_ns;
        uint64_t late_ns; /* by how much too late this process woke up of its own sleeps lately */
};

/* Maps the pages of the device at this index in the share. The caller closes it. */
int gpu_timeslice_open(const char *grant_path, const char *want_path, unsigned device,
                       struct gpu_timeslice *ret_timeslice, struct err *e);
/* Leaves the time slice, whatever its state. */
void gpu_timeslice_close(struct gpu_timeslice *timeslice);

/* Waits until this process may submit, and marks it active. True: the token was elsewhere meanwhile
 * (other tenants ran, and may have pushed managed memory off the GPU). Async-signal-unsafe; never
 * call it for a stream under capture. */
bool gpu_timeslice_begin(struct gpu_timeslice *timeslice);

/* May more be submitted? False: drain, then gpu_timeslice_end() and, if there is more,
 * gpu_timeslice_begin().
 * Two loads and a comparison while the answer is yes. */
bool gpu_timeslice_query(struct gpu_timeslice *timeslice, uint64_t now_ns);
static inline bool gpu_timeslice_is_on(struct gpu_timeslice *timeslice, uint64_t now_ns)
{
        return (atomic_load_explicit(&timeslice->grant->timeslice, memory_order_relaxed) ==
                        atomic_load_explicit(&timeslice->number, memory_order_relaxed) &&
                now_ns < atomic_load_explicit(&timeslice->grant->deadline_ns,
                                              memory_order_relaxed)) ||
               gpu_timeslice_query(timeslice, now_ns);
}

/* When the time slice ends: work that cannot be done by then had better wait. GPU_NO_DEADLINE: not known. */
uint64_t gpu_timeslice_deadline_ns(const struct gpu_timeslice *timeslice);
/* How much may be submitted and not done; default_ns where no arbiter has a say. */
uint64_t gpu_timeslice_in_flight_ns(const struct gpu_timeslice *timeslice, uint64_t default_ns);

/* Nothing more is submitted before the next gpu_timeslice_begin(), and what was is noted with the time at
 * which it should be done: others may get ready to begin then. */
void gpu_timeslice_drain(struct gpu_timeslice *timeslice);
/* Nothing of this process is on the GPU any more. `wants_more`: it would go on at once. */
void gpu_timeslice_end(struct gpu_timeslice *timeslice, bool wants_more);

/* What the container's work touches, wherever it lies now. */
void gpu_timeslice_note_memory(struct gpu_timeslice *timeslice, uint64_t resident_bytes);
/* The same, and how much of it can move. The arbiter hears of it where it matters, whether or not there are time
 * slices. */
void gpu_timeslice_tell_memory(struct gpu_timeslice *timeslice, uint64_t resident_bytes,
                               uint64_t movable_bytes);
/* A sign of life, and what was measured: GPU time of this process so far, and when what it has
 * submitted should be done; 0: nothing is. Others wait for that long, and longer than for work of which
 * nobody knows when it ends. */
void gpu_timeslice_note(struct gpu_timeslice *timeslice, uint64_t busy_ns, uint64_t done_ns);
