/* SPDX-License-Identifier: Apache-2.0 */
/* batch: what one thread has submitted to a stream since it was last measured, and how much more it may submit.
 *
 * A thread pays for GPU time in advance, its credit; launches take from it with no clock, no atomic and no
 * call. When it is used up, what was submitted since is measured (batch_admit), and the thread waits if the
 * container owes GPU time. So a thread never sleeps in the middle of what it measures. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cost.h"
#include "meter.h"
#include "timeslice.h"

/* Small: a library that is loaded late finds little space for the variables of its threads. */
enum { BATCHES = 8, CREDITS = 4, BATCH_COSTS = 64 };

struct credit {
        int64_t ns;
        unsigned owner;     /* the device index + 1; 0: none */
        uint32_t timeslice; /* it was got in; void in another */
};

struct batch {
        uintptr_t tag;       /* the stream + 1; 0: closed */
        uint64_t planned_ns; /* what was submitted since it was opened */
        struct segment_ref segment;
        uint64_t streams_ended; /* when it was opened */
        uint32_t credit;
        uint32_t opened; /* so far */
};

struct batches {
        struct batch open[BATCHES];
        struct credit credits[CREDITS];
        uint64_t costs[BATCH_COSTS]; /* {key without its low bits, index in cost_table} */
};
extern _Thread_local struct batches batches __attribute__((tls_model("initial-exec")));

/* The null stream of a function for per-thread default streams is the thread's own. */
static inline CUstream batch_stream(CUstream stream, bool is_per_thread)
{
        return stream || !is_per_thread ? stream : CU_STREAM_PER_THREAD;
}

static inline struct batch *batch_of(CUstream stream)
{
        uintptr_t bits = (uintptr_t)stream;

        return &batches.open[(bits >> 4 ^ bits >> 9) % BATCHES];
}

/* Takes the work from the thread's credit. False: batch_admit() has to be asked. */
static inline bool batch_pass(CUstream stream, uint64_t key)
{
        struct batch *batch = batch_of(stream);
        uint64_t seen = batches.costs[key % BATCH_COSTS];

        if (batch->tag != (uintptr_t)stream + 1 || (seen ^ key) >> COST_BITS)
                return false;
        uint32_t cost_ns = atomic_load_explicit(&cost_table[seen % COSTS].ns, memory_order_relaxed);
        struct credit *credit = &batches.credits[batch->credit];
        if (credit->ns < cost_ns ||
            credit->timeslice != atomic_load_explicit(&timeslice_number, memory_order_relaxed))
                return false;
        credit->ns -= cost_ns;
        batch->planned_ns += cost_ns;
        return true;
}

/* One launch that was admitted the slow way. */
struct admission {
        struct segment_ref segment; /* of this launch alone; {0}: not alone, or not measured */
        uint64_t begin_ns;
        uint64_t work_ns;
        unsigned cost;
        CUstream stream;
        int device_index;
};

/* Waits until the launch may be made; never for a stream that captures. `handle` is the kernel's, which is
 * in the key; NULL: the key means nothing to other processes. */
void batch_admit(CUstream stream, const void *handle, uint64_t key,
                 struct admission *ret_admission);
/* After the launch. */
void batch_settle(const struct admission *admission, CUresult result);

/* Ends the thread's segment on this stream; on all streams of a context. Before a call that waits for
 * them. */
void batch_end(CUstream stream);
void batch_end_all(uint64_t context);
/* Before another context becomes current: ends the segment on the null stream, which is the current
 * context's. */
void batch_leave(void);
/* The context that the null stream's segment is in; 0: there is none. */
uint64_t batch_context(void);
/* Settles what is done on the current device. */
void batch_harvest(void);
/* The stream may wait for the host, or for memory, from here on: what was submitted is measured up to
 * here, for the wait is no work. */
void batch_part(CUstream stream);
/* Events may stand for what is not this process's work on this device. */
void batch_has_outer_events(void);
/* The stream waits for an event from here on: the same, if that may wait for anything but work. */
void batch_part_by_event(CUstream stream);
/* Around a call that waits for work of the current context: free where there is none. */
void batch_wait_begins(void);
void batch_wait_ends(void);
/* Before a context ends, or may: its work is measured. meter_context_ended() has to follow. */
void batch_context_ends(uint64_t context);
/* Before a stream is destroyed: its handle may come back for another. */
void batch_stream_ends(CUstream stream);
/* In a forked child. */
void batch_forked(void);
