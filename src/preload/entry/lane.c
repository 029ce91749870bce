/* lane: the slow half of a launch under a limit. */
#include "lane.h"

#include "clock.h"
#include "gate_compute.h"
#include "gate_turn.h"
#include "stream_end.h"

#define ROOM_NS    (500 * NS_PER_US) /* charged at a time */
#define LONG_NS    (250 * NS_PER_US) /* work that is measured by itself */
#define UNKNOWN_NS (2 * NS_PER_MS)   /* a kernel that was never seen */
#define NAP_NS     (20 * NS_PER_US)
/* Work that does not end may wait for what this thread is about to do. What comes behind it in the
 * same stream is hardly that. */
#define STUCK_NS      (32 * NS_PER_MS)
#define STUCK_SELF_NS (1 * NS_PER_S)
enum { PROBE_EVERY = 4 }; /* segments, one of which holds a single launch to learn from */

_Thread_local struct lanes lanes __attribute__((tls_model("initial-exec")));

static bool is_capturing(CUstream stream)
{
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

        return real_cuda.cuStreamIsCapturing &&
               (real_cuda.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
                status != CU_STREAM_CAPTURE_STATUS_NONE);
}

static bool is_null_stream(CUstream stream)
{
        return (uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD;
}

static CUstream stream_of(const struct lane *lane)
{
        return (CUstream)(lane->tag - 1);
}

/* The handle cannot have become another stream's since the lane was opened. */
static bool handle_holds(const struct lane *lane)
{
        return is_null_stream(stream_of(lane)) ||
               stream_end_spared(stream_of(lane), lane->streams_ended);
}

static void lane_close(struct lane *lane)
{
        const struct segment_end end = { .planned_ns = lane->planned_ns };
        const CUstream stream = stream_of(lane);

        if (handle_holds(lane) && !is_capturing(stream))
                meter_close(lane->segment, stream, &end);
        else
                meter_drop(lane->segment);
        lane->tag = 0;
}

/* What was submitted is measured up to here, on all streams that take from this room. */
static void room_close(unsigned room)
{
        for (unsigned i = 0; i < LANES; i++)
                if (lanes.lanes[i].tag && lanes.lanes[i].room == room)
                        lane_close(&lanes.lanes[i]);
}

/* Gives the room to another device; what is left of it goes back. */
static void room_turn(unsigned room, unsigned account)
{
        room_close(room);
        if (lanes.rooms[room].ns)
                gate_compute_correct(lanes.rooms[room].owner - 1, -lanes.rooms[room].ns);
        lanes.rooms[room] = (struct room){ .owner = account + 1 };
}

/* The thread's room on this device. */
static unsigned room_of(unsigned account)
{
        unsigned room = 0;

        while (room < ROOMS && lanes.rooms[room].owner && lanes.rooms[room].owner != account + 1)
                room++;
        if (room == ROOMS)
                room = account % ROOMS;
        if (lanes.rooms[room].owner != account + 1)
                room_turn(room, account);
        return room;
}

/* How long to wait for work that is in flight; 0: there is little, or it does not end. */
static uint64_t in_flight_wait_ns(unsigned account, CUstream stream, const struct backlog *backlog,
                                  uint64_t waited_ns)
{
        const uint64_t most_ns = backlog->oldest == stream ? STUCK_SELF_NS : STUCK_NS;
        const uint64_t bound_ns =
                gate_turn_in_flight_ns(account, gate_compute_in_flight_ns(account));

        if (backlog->planned_ns <= bound_ns || waited_ns > most_ns)
                return 0;
        const uint64_t nap_ns = waited_ns / 16 > NAP_NS ? waited_ns / 16 : NAP_NS;
        const uint64_t now_ns = clock_now_ns();
        /* Until half of it is left, so that the device has work while this thread wakes up; then
         * more and more. */
        const uint64_t until_ns = backlog->due_ns - bound_ns / 2;
        return until_ns > now_ns + nap_ns ? until_ns - now_ns : nap_ns;
}

/* Waits until the work is paid for and not too much is in flight; charges it. */
static void lane_wait(unsigned account, CUstream stream, uint64_t work_ns)
{
        const uint64_t begin_ns = clock_now_ns();

        for (;;) {
                meter_harvest(account);
                const struct backlog backlog = meter_backlog(account);
                const uint64_t waited_ns = clock_now_ns() - begin_ns;
                uint64_t wait_ns = in_flight_wait_ns(account, stream, &backlog, waited_ns);
                if (!wait_ns)
                        wait_ns = gate_compute_ask(account, work_ns);
                if (!wait_ns) {
                        turn_take(account, stream, backlog.planned_ns);
                        return;
                }
                /* What a guess was charged is corrected as soon as it is done. */
                const uint64_t nap_ns = waited_ns / 4 > NAP_NS ? waited_ns / 4 : NAP_NS;
                if (backlog.is_guess && nap_ns < wait_ns)
                        wait_ns = nap_ns;
                gate_compute_wait(account, wait_ns);
        }
}

/* Room for work of this length, waited for if need be. */
static void room_make(unsigned room, CUstream stream, uint64_t work_ns)
{
        const unsigned account = lanes.rooms[room].owner - 1;
        const uint64_t granted_ns = work_ns > ROOM_NS ? work_ns : ROOM_NS;

        room_close(room);
        gate_compute_correct(account, -lanes.rooms[room].ns);
        lanes.rooms[room].ns = 0;
        lane_wait(account, stream, granted_ns);
        lanes.rooms[room].turn = atomic_load(&turn_number);
        lanes.rooms[room].ns = (int64_t)granted_ns;
}

static void lane_open(struct lane *lane, const struct place *place, unsigned room, unsigned cost,
                      struct admission *ret_admission)
{
        const CUstream stream = ret_admission->stream;
        const uint64_t work_ns = ret_admission->work_ns;
        const bool is_known = cost_table[cost].ns != COST_UNKNOWN_NS;
        const bool is_single = !is_known || work_ns >= LONG_NS || lane->opened++ % PROBE_EVERY == 0;

        if (lane->tag)
                lane_close(lane);
        struct segment_ref segment = meter_open(place, stream);
        if (is_single) {
                ret_admission->segment = segment;
                ret_admission->cost = cost;
                ret_admission->begin_ns = clock_now_ns();
                return;
        }
        lane->tag = (uintptr_t)stream + 1;
        lane->planned_ns = work_ns;
        lane->segment = segment;
        lane->room = room;
        lane->streams_ended = stream_end_count();
}

/* The thread knows too many kinds of work: there is room, only the cost had to be looked up. */
static bool lane_pass_slowly(CUstream stream, uint64_t key)
{
        const unsigned cost = cost_find(key);

        if (atomic_load_explicit(&cost_table[cost].ns, memory_order_relaxed) == COST_UNKNOWN_NS)
                return false;
        lanes.costs[key % LANE_COSTS] = (key & ~(uint64_t)(COSTS - 1)) | cost;
        return lane_pass(stream, key);
}

void lane_admit(CUstream stream, uint64_t key, struct admission *ret_admission)
{
        *ret_admission = (struct admission){ .stream = stream, .account = DEVICES_NONE };
        if (lane_pass_slowly(stream, key))
                return;
        const struct place place = devices_of_stream(stream);
        if (place.account < 0 || !gate_compute_is_limited((unsigned)place.account))
                return;
        const CUstreamCaptureMode mode = meter_relax();
        if (!is_capturing(stream)) {
                const unsigned cost = cost_find(key), room = room_of((unsigned)place.account);
                const uint32_t ns = atomic_load(&cost_table[cost].ns);

                ret_admission->account = place.account;
                ret_admission->work_ns = ns == COST_UNKNOWN_NS ? UNKNOWN_NS : ns;
                if (lanes.rooms[room].ns < (int64_t)ret_admission->work_ns ||
                    lanes.rooms[room].turn != atomic_load(&turn_number))
                        room_make(room, stream, ret_admission->work_ns);
                lanes.rooms[room].ns -= (int64_t)ret_admission->work_ns;
                lane_open(lane_of(stream), &place, room, cost, ret_admission);
        }
        meter_restore(mode);
}

void lane_settle(const struct admission *admission, CUresult result)
{
        if (!admission->segment.segment)
                return;
        const struct segment_end end = { .planned_ns = admission->work_ns,
                                         .last_ns = admission->work_ns,
                                         .last_at_ns = admission->begin_ns,
                                         .cost = admission->cost };
        const CUstreamCaptureMode mode = meter_relax();
        if (result == CUDA_SUCCESS) {
                meter_close(admission->segment, admission->stream, &end);
        } else {
                meter_drop(admission->segment);
                gate_compute_correct((unsigned)admission->account, -(int64_t)admission->work_ns);
        }
        meter_restore(mode);
}

void lane_end(CUstream stream)
{
        struct lane *lane = lane_of(stream);

        if (lane->tag != (uintptr_t)stream + 1)
                return;
        const CUstreamCaptureMode mode = meter_relax();
        lane_close(lane);
        meter_restore(mode);
}

uint64_t lane_context(void)
{
        const struct lane *lane = lane_of(NULL);

        return lane->tag && is_null_stream(stream_of(lane)) ? meter_context(lane->segment) : 0;
}

void lane_leave(void)
{
        if (lane_context())
                lane_end(stream_of(lane_of(NULL)));
}

void lane_end_all(uint64_t context)
{
        const CUstreamCaptureMode mode = meter_relax();

        for (unsigned i = 0; i < LANES; i++)
                if (lanes.lanes[i].tag && handle_holds(&lanes.lanes[i]) &&
                    meter_context(lanes.lanes[i].segment) == context)
                        lane_close(&lanes.lanes[i]);
        meter_restore(mode);
}

void lane_harvest(void)
{
        const struct place place = devices_current();

        if (place.account < 0 || !gate_compute_is_limited((unsigned)place.account))
                return;
        const CUstreamCaptureMode mode = meter_relax();
        meter_harvest((unsigned)place.account);
        meter_restore(mode);
}

void lane_stream_ends(CUstream stream)
{
        lane_end(stream);
        stream_end_note(stream);
}

void lane_forked(void)
{
        lanes = (struct lanes){ 0 };
        turn_forked();
        meter_forked();
}
