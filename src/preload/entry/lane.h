/* lane: what one thread may still submit to a device without asking anybody, and to which streams.
 *
 * A thread is charged for room in advance; launches take from it with no clock, no atomic and no call.
 * When it is used up, what was submitted since is measured (lane_admit), and the thread waits if the
 * container owes GPU time. So a thread never sleeps in the middle of what it measures. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cost.h"
#include "meter.h"
#include "turn.h"

/* Small: a library that is loaded late finds little room for the variables of its threads. */
enum { LANES = 8, ROOMS = 4, LANE_COSTS = 64 };

struct room {
        int64_t ns;
        unsigned owner; /* the account of the device + 1; 0: none */
        uint32_t turn;  /* it was got in; void in another */
};

struct lane {
        uintptr_t tag;       /* the stream + 1; 0: closed */
        uint64_t planned_ns; /* what was submitted since it was opened */
        struct segment_ref segment;
        uint64_t streams_ended; /* when it was opened */
        uint32_t room;
        uint32_t opened; /* so far */
};

struct lanes {
        struct lane lanes[LANES];
        struct room rooms[ROOMS];
        uint64_t costs[LANE_COSTS]; /* {key without its low bits, place in cost_table} */
};
extern _Thread_local struct lanes lanes __attribute__((tls_model("initial-exec")));

/* The null stream of a function for per-thread default streams is the thread's own. */
static inline CUstream lane_stream(CUstream stream, bool is_per_thread)
{
        return stream || !is_per_thread ? stream : CU_STREAM_PER_THREAD;
}

static inline struct lane *lane_of(CUstream stream)
{
        uintptr_t bits = (uintptr_t)stream;

        return &lanes.lanes[(bits >> 4 ^ bits >> 9) % LANES];
}

/* Takes the work from the thread's room. False: lane_admit() has to be asked. */
static inline bool lane_pass(CUstream stream, uint64_t key)
{
        struct lane *lane = lane_of(stream);
        uint64_t seen = lanes.costs[key % LANE_COSTS];

        if (lane->tag != (uintptr_t)stream + 1 || (seen ^ key) >> COST_BITS)
                return false;
        uint32_t cost_ns = atomic_load_explicit(&cost_table[seen % COSTS].ns, memory_order_relaxed);
        struct room *room = &lanes.rooms[lane->room];
        if (room->ns < cost_ns ||
            room->turn != atomic_load_explicit(&turn_number, memory_order_relaxed))
                return false;
        room->ns -= cost_ns;
        lane->planned_ns += cost_ns;
        return true;
}

/* One launch that was looked at. */
struct admission {
        struct segment_ref segment; /* of this launch alone; {0}: not alone, or not measured */
        uint64_t begin_ns;
        uint64_t work_ns;
        unsigned cost;
        CUstream stream;
        int account;
};

/* Waits until the launch may be made; never for a stream that captures. */
void lane_admit(CUstream stream, uint64_t key, struct admission *ret_admission);
/* After the launch. */
void lane_settle(const struct admission *admission, CUresult result);

/* Ends the thread's segment on this stream; on all streams of a context. Before a call that waits for
 * them. */
void lane_end(CUstream stream);
void lane_end_all(uint64_t context);
/* Before another context becomes current: ends the segment on the null stream, which is the current
 * context's. */
void lane_leave(void);
/* The context that the null stream's segment is in; 0: there is none. */
uint64_t lane_context(void);
/* Settles what is done on the current device. */
void lane_harvest(void);
/* Before a stream is destroyed: its handle may come back for another. */
void lane_stream_ends(CUstream stream);
/* In a forked child. */
void lane_forked(void);
