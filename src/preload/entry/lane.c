/* lane: the slow half of a launch under a limit. */
#include "lane.h"

#include "clock.h"
#include "gate_compute.h"

#define SEGMENT_NS   (500 * NS_PER_US) /* charged at a time … */
#define LONG_NS      (250 * NS_PER_US) /* … work this long is a segment of its own */
#define UNKNOWN_NS   (2 * NS_PER_MS) /* a kernel that was never seen: half of what may be in flight */
#define IN_FLIGHT_NS (4 * NS_PER_MS)
#define NAP_NS       (20 * NS_PER_US)
/* Work that does not end may wait for what this thread is about to do. What comes behind it in the
 * same stream is hardly that. */
#define STUCK_NS      (32 * NS_PER_MS)
#define STUCK_SELF_NS (1 * NS_PER_S)
enum { PROBE_EVERY = 4 }; /* segments, one of which holds a single launch to learn from */

_Thread_local struct lanes lanes __attribute__((tls_model("initial-exec")));

static _Atomic uint64_t lane_streams_ended;

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

/* The handle cannot have become another stream's since the lane was opened. */
static bool handle_holds(const struct lane *lane)
{
        return is_null_stream(lane->stream) ||
               lane->streams_ended == atomic_load(&lane_streams_ended);
}

static void lane_close(struct lane *lane)
{
        struct segment_ref segment = lane->segment;
        struct segment_end end = { .planned_ns = (uint64_t)(lane->granted_ns - lane->room_ns) };

        lane->segment = (struct segment_ref){ 0 };
        lane->room_ns = 0;
        if (!segment.segment)
                return;
        if (handle_holds(lane) && !is_capturing(lane->stream))
                meter_close(segment, lane->stream, &end);
        else
                meter_drop(segment);
}

/* How long to wait for work that is in flight; 0: there is little, or it does not end. */
static uint64_t in_flight_wait_ns(CUstream stream, const struct backlog *backlog,
                                  uint64_t waited_ns)
{
        const uint64_t most_ns = backlog->oldest == stream ? STUCK_SELF_NS : STUCK_NS;

        if (backlog->charged_ns <= IN_FLIGHT_NS || waited_ns > most_ns)
                return 0;
        return waited_ns / 8 > NAP_NS ? waited_ns / 8 : NAP_NS;
}

/* Waits until the work is paid for and not too much is in flight; charges it. */
static void lane_wait(unsigned account, CUstream stream, uint64_t work_ns)
{
        const uint64_t begin_ns = clock_now_ns();

        for (;;) {
                meter_harvest(account);
                const struct backlog backlog = meter_backlog(account);
                const uint64_t waited_ns = clock_now_ns() - begin_ns;
                uint64_t wait_ns = in_flight_wait_ns(stream, &backlog, waited_ns);
                if (!wait_ns)
                        wait_ns = gate_compute_ask(account, work_ns);
                if (!wait_ns)
                        return;
                /* What a guess was charged is corrected as soon as it is done. */
                const uint64_t nap_ns = waited_ns / 4 > NAP_NS ? waited_ns / 4 : NAP_NS;
                if (backlog.is_guess && nap_ns < wait_ns)
                        wait_ns = nap_ns;
                gate_compute_wait(account, wait_ns);
        }
}

/* The launch takes the rest of the segment, and more than there was: it is the last. */
static void admit_last(struct lane *lane, uint64_t ns, struct admission *ret_admission)
{
        gate_compute_correct((unsigned)ret_admission->account, (int64_t)ns);
        ret_admission->segment = lane->segment;
        ret_admission->end = (struct segment_end){
                .charged_ns = ns,
                .planned_ns = (uint64_t)(lane->granted_ns - lane->room_ns) + ns,
                .last_ns = ns,
                .last_at_ns = clock_now_ns(),
        };
        lane->segment = (struct segment_ref){ 0 };
        lane->room_ns = 0;
}

static void admit_first(struct lane *lane, const struct place *place, unsigned cost, uint64_t ns,
                        struct admission *ret_admission)
{
        const bool is_known = ns != COST_UNKNOWN_NS;
        const uint64_t work_ns = !is_known ? UNKNOWN_NS : ns > SEGMENT_NS ? ns : SEGMENT_NS;
        const unsigned account = (unsigned)place->account;
        const CUstream stream = ret_admission->stream;

        if (lane->segment.segment)
                lane_close(lane);
        lane_wait(account, stream, work_ns);
        struct segment_ref segment = meter_open(place, stream, work_ns);
        const bool is_single = !is_known || ns >= LONG_NS || lane->opened++ % PROBE_EVERY == 0;
        if (is_single && segment.segment) {
                ret_admission->segment = segment;
                ret_admission->end = (struct segment_end){ .planned_ns = is_known ? ns : work_ns,
                                                           .last_ns = is_known ? ns : work_ns,
                                                           .last_at_ns = clock_now_ns(),
                                                           .cost = cost };
                return;
        }
        lane->stream = stream;
        lane->segment = segment;
        lane->granted_ns = (int64_t)work_ns;
        lane->room_ns = is_known ? (int64_t)(work_ns - ns) : 0;
        lane->streams_ended = atomic_load(&lane_streams_ended);
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
                struct lane *lane = lane_of(stream);
                const unsigned cost = cost_find(key);
                const uint64_t ns = atomic_load(&cost_table[cost].ns);

                ret_admission->account = place.account;
                if (ns < LONG_NS && lane->stream == stream &&
                    meter_context(lane->segment) == place.context)
                        admit_last(lane, ns, ret_admission);
                else
                        admit_first(lane, &place, cost, ns, ret_admission);
        }
        meter_restore(mode);
}

void lane_settle(const struct admission *admission, CUresult result)
{
        if (!admission->segment.segment)
                return;
        const CUstreamCaptureMode mode = meter_relax();
        if (result == CUDA_SUCCESS)
                meter_close(admission->segment, admission->stream, &admission->end);
        else
                gate_compute_correct((unsigned)admission->account,
                                     -(int64_t)meter_drop(admission->segment));
        meter_restore(mode);
}

void lane_end(CUstream stream)
{
        struct lane *lane = lane_of(stream);

        if (lane->stream != stream || !lane->segment.segment)
                return;
        const CUstreamCaptureMode mode = meter_relax();
        lane_close(lane);
        meter_restore(mode);
}

uint64_t lane_context(void)
{
        const struct lane *lane = lane_of(NULL);

        return is_null_stream(lane->stream) ? meter_context(lane->segment) : 0;
}

void lane_leave(void)
{
        if (lane_context())
                lane_end(lane_of(NULL)->stream);
}

void lane_end_all(uint64_t context)
{
        const CUstreamCaptureMode mode = meter_relax();

        for (unsigned i = 0; i < LANES; i++)
                if (lanes.lanes[i].segment.segment && handle_holds(&lanes.lanes[i]) &&
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
        atomic_fetch_add(&lane_streams_ended, 1);
}

void lane_forked(void)
{
        lanes = (struct lanes){ 0 };
        meter_forked();
}
