/* SPDX-License-Identifier: Apache-2.0 */
/* batch: the slow half of a launch under a limit. */
#include "batch.h"

#include "clock.h"
#include "gate_compute.h"
#include "gate_timeslice.h"
#include "settler.h"
#include "stream_end.h"
#include "work_name.h"

#define CREDIT_NS  (500 * NS_PER_US) /* charged at a time */
#define LONG_NS    (250 * NS_PER_US) /* work that is measured by itself */
#define UNKNOWN_NS (2 * NS_PER_MS)   /* a kernel that was never seen */
#define NAP_NS     (20 * NS_PER_US)
/* Work that does not end may wait for what this thread is about to do. What comes behind it in the
 * same stream is hardly that. */
#define STUCK_NS      (32 * NS_PER_MS)
#define STUCK_SELF_NS (1 * NS_PER_S)
#define WAIT_NS       (2 * NS_PER_MS)
enum { OUTER_FACTOR = 4 };
enum { PROBE_EVERY = 4 }; /* segments, one of which holds a single launch to learn from */

_Thread_local struct batches batches __attribute__((tls_model("initial-exec")));

/* Until then events are only passed when work is done, which counts in any case. */
static _Atomic bool batch_outer_events;

void batch_has_outer_events(void)
{
        atomic_store_explicit(&batch_outer_events, true, memory_order_relaxed);
}

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

static CUstream stream_of(const struct batch *batch)
{
        return (CUstream)(batch->tag - 1);
}

/* The handle cannot have become another stream's since the batch was opened. */
static bool handle_holds(const struct batch *batch)
{
        return is_null_stream(stream_of(batch)) ||
               stream_end_spared(stream_of(batch), batch->streams_ended);
}

static void batch_close(struct batch *batch)
{
        const struct segment_end end = { .planned_ns = batch->planned_ns };
        const CUstream stream = stream_of(batch);

        if (handle_holds(batch) && !is_capturing(stream)) {
                meter_close(batch->segment, stream, &end);
                settler_watch();
        } else {
                meter_drop(batch->segment);
        }
        batch->tag = 0;
}

/* What was submitted is measured up to here, on all streams that take from this credit. */
static void credit_close(unsigned credit)
{
        for (unsigned i = 0; i < BATCHES; i++)
                if (batches.open[i].tag && batches.open[i].credit == credit)
                        batch_close(&batches.open[i]);
}

/* Moves the credit to another device; what is left of it goes back. */
static void credit_move(unsigned credit, unsigned device_index)
{
        credit_close(credit);
        if (batches.credits[credit].ns)
                gate_compute_correct(batches.credits[credit].owner - 1,
                                     -batches.credits[credit].ns);
        batches.credits[credit] = (struct credit){ .owner = device_index + 1 };
}

/* The thread's credit on this device. */
static unsigned credit_of(unsigned device_index)
{
        unsigned credit = 0;

        while (credit < CREDITS && batches.credits[credit].owner &&
               batches.credits[credit].owner != device_index + 1)
                credit++;
        if (credit == CREDITS)
                credit = device_index % CREDITS;
        if (batches.credits[credit].owner != device_index + 1)
                credit_move(credit, device_index);
        return credit;
}

/* Most of what is in flight may wait for the host: it is paid for, and not at work. */
static unsigned outer_factor(void)
{
        return atomic_load_explicit(&batch_outer_events, memory_order_relaxed) ? OUTER_FACTOR : 1;
}

/* A piece that is longer than the bound by itself: the next one follows it before it ends, so that the device has
 * work while this thread wakes up. One at a time, because it may take longer than it should. */
static bool is_ending(const struct backlog *backlog, uint64_t bound_ns)
{
        return backlog->is_single && !backlog->is_guess &&
               backlog->due_ns <= clock_now_ns() + bound_ns / 2;
}

/* How long to wait for work that is in flight; 0: there is little, or it does not end. */
static uint64_t in_flight_wait_ns(unsigned device_index, CUstream stream,
                                  const struct backlog *backlog, uint64_t waited_ns)
{
        const uint64_t most_ns = backlog->oldest == stream ? STUCK_SELF_NS : STUCK_NS;
        const uint64_t bound_ns = gate_timeslice_in_flight_ns(
                device_index, gate_compute_in_flight_ns(device_index) * outer_factor());

        if (backlog->planned_ns <= bound_ns || waited_ns > most_ns || is_ending(backlog, bound_ns))
                return 0;
        const uint64_t nap_ns = waited_ns / 16 > NAP_NS ? waited_ns / 16 : NAP_NS;
        const uint64_t now_ns = clock_now_ns();
        /* Until half of it is left, so that the device has work while this thread wakes up; then
         * more and more. */
        const uint64_t until_ns = backlog->due_ns - bound_ns / 2;
        if (until_ns <= now_ns + nap_ns)
                return nap_ns;
        /* Where the estimate is far too high, not all of it is slept through. */
        const uint64_t most_wait_ns = waited_ns > WAIT_NS ? waited_ns : WAIT_NS;
        return until_ns - now_ns < most_wait_ns ? until_ns - now_ns : most_wait_ns;
}

/* Waits until the work is paid for and not too much is in flight; charges it. */
static void batch_wait(unsigned device_index, CUstream stream, uint64_t work_ns)
{
        const uint64_t begin_ns = clock_now_ns();

        for (;;) {
                meter_harvest(device_index);
                const struct backlog backlog = meter_backlog(device_index);
                const uint64_t waited_ns = clock_now_ns() - begin_ns;
                uint64_t wait_ns = in_flight_wait_ns(device_index, stream, &backlog, waited_ns);
                const bool is_owed = !wait_ns;
                if (is_owed)
                        wait_ns = gate_compute_ask(device_index, work_ns);
                if (!wait_ns) {
                        timeslice_take(device_index, stream, backlog.planned_ns);
                        return;
                }
                /* What a guess was charged is corrected as soon as it is done. */
                const uint64_t nap_ns = waited_ns / 4 > NAP_NS ? waited_ns / 4 : NAP_NS;
                if (backlog.is_guess && nap_ns < wait_ns)
                        wait_ns = nap_ns;
                gate_compute_wait(device_index, wait_ns, is_owed);
        }
}

/* Credit for work of this length, waited for if need be. */
static void credit_refill(unsigned credit, CUstream stream, uint64_t work_ns)
{
        const unsigned device_index = batches.credits[credit].owner - 1;
        const uint64_t granted_ns = work_ns > CREDIT_NS ? work_ns : CREDIT_NS;

        credit_close(credit);
        gate_compute_correct(device_index, -batches.credits[credit].ns);
        batches.credits[credit].ns = 0;
        batch_wait(device_index, stream, granted_ns);
        batches.credits[credit].timeslice = atomic_load(&timeslice_number);
        batches.credits[credit].ns = (int64_t)granted_ns;
}

static void batch_open(struct batch *batch, const struct target *target, unsigned credit,
                       unsigned cost, struct admission *ret_admission)
{
        const CUstream stream = ret_admission->stream;
        const uint64_t work_ns = ret_admission->work_ns;
        const bool is_known = cost_table[cost].ns != COST_UNKNOWN_NS;
        const bool is_single =
                !is_known || work_ns >= LONG_NS || batch->opened++ % PROBE_EVERY == 0;

        if (batch->tag)
                batch_close(batch);
        struct segment_ref segment = meter_open(target, stream);
        settler_watch(); /* the thread may never close it */
        if (is_single) {
                ret_admission->segment = segment;
                ret_admission->cost = cost;
                ret_admission->begin_ns = clock_now_ns();
                return;
        }
        batch->tag = (uintptr_t)stream + 1;
        batch->planned_ns = work_ns;
        batch->segment = segment;
        batch->credit = credit;
        batch->streams_ended = stream_end_count();
}

/* The thread knows too many kinds of work: there is credit, only the cost had to be looked up. */
static bool batch_pass_slowly(CUstream stream, uint64_t key)
{
        const unsigned cost = cost_find(key);

        if (atomic_load_explicit(&cost_table[cost].ns, memory_order_relaxed) == COST_UNKNOWN_NS)
                return false;
        batches.costs[key % BATCH_COSTS] = (key & ~(uint64_t)(COSTS - 1)) | cost;
        return batch_pass(stream, key);
}

/* What other processes of the container have learned. */
static void cost_recall(unsigned cost, unsigned device_index, const void *handle, uint64_t key)
{
        const uint64_t name = work_name_of(handle);

        if (!name)
                return;
        const uint64_t shared = cost_key_renamed(key, handle, name + device_index);
        const uint64_t ns = gate_compute_cost(shared);
        cost_share(cost, shared);
        if (ns)
                cost_learn(cost, ns, false);
}

void batch_admit(CUstream stream, const void *handle, uint64_t key, struct admission *ret_admission)
{
        *ret_admission = (struct admission){ .stream = stream, .device_index = DEVICES_NONE };
        if (batch_pass_slowly(stream, key))
                return;
        const struct target target = devices_of_stream(stream);
        if (target.device_index < 0 || !gate_compute_is_limited((unsigned)target.device_index))
                return;
        const CUstreamCaptureMode mode = meter_relax();
        if (!is_capturing(stream)) {
                const unsigned cost = cost_find(key),
                               credit = credit_of((unsigned)target.device_index);
                if (handle && atomic_load(&cost_table[cost].ns) == COST_UNKNOWN_NS)
                        cost_recall(cost, (unsigned)target.device_index, handle, key);
                const uint32_t ns = atomic_load(&cost_table[cost].ns);

                ret_admission->device_index = target.device_index;
                ret_admission->work_ns = ns == COST_UNKNOWN_NS ? UNKNOWN_NS : ns;
                if (batches.credits[credit].ns < (int64_t)ret_admission->work_ns ||
                    batches.credits[credit].timeslice != atomic_load(&timeslice_number))
                        credit_refill(credit, stream, ret_admission->work_ns);
                batches.credits[credit].ns -= (int64_t)ret_admission->work_ns;
                batch_open(batch_of(stream), &target, credit, cost, ret_admission);
        }
        meter_restore(mode);
}

void batch_settle(const struct admission *admission, CUresult result)
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
                settler_watch();
        } else {
                meter_drop(admission->segment);
                gate_compute_correct((unsigned)admission->device_index,
                                     -(int64_t)admission->work_ns);
        }
        meter_restore(mode);
}

void batch_end(CUstream stream)
{
        struct batch *batch = batch_of(stream);

        if (batch->tag != (uintptr_t)stream + 1)
                return;
        const CUstreamCaptureMode mode = meter_relax();
        batch_close(batch);
        meter_restore(mode);
}

uint64_t batch_context(void)
{
        const struct batch *batch = batch_of(NULL);

        return batch->tag && is_null_stream(stream_of(batch)) ? meter_context(batch->segment) : 0;
}

void batch_leave(void)
{
        if (batch_context())
                batch_end(stream_of(batch_of(NULL)));
}

void batch_end_all(uint64_t context)
{
        const CUstreamCaptureMode mode = meter_relax();

        for (unsigned i = 0; i < BATCHES; i++)
                if (batches.open[i].tag && handle_holds(&batches.open[i]) &&
                    meter_context(batches.open[i].segment) == context)
                        batch_close(&batches.open[i]);
        meter_restore(mode);
}

void batch_harvest(void)
{
        const struct target target = devices_current();

        if (target.device_index < 0 || !gate_compute_is_limited((unsigned)target.device_index))
                return;
        const CUstreamCaptureMode mode = meter_relax();
        meter_harvest((unsigned)target.device_index);
        meter_restore(mode);
}

void batch_part(CUstream stream)
{
        batch_has_outer_events();
        batch_end(stream);
}

void batch_part_by_event(CUstream stream)
{
        if (atomic_load_explicit(&batch_outer_events, memory_order_relaxed) || devices_count() > 1)
                batch_end(stream);
}

void batch_wait_begins(void)
{
        if (meter_has_work())
                batch_end_all(devices_current().context);
}

void batch_wait_ends(void)
{
        if (meter_has_work())
                batch_harvest();
}

void batch_context_ends(uint64_t context)
{
        if (!meter_has_work())
                return;
        batch_end_all(context);
        meter_context_ends(context);
}

void batch_stream_ends(CUstream stream)
{
        batch_end(stream);
        stream_end_note(stream);
}

void batch_forked(void)
{
        batches = (struct batches){ 0 };
        timeslice_forked();
        settler_forked();
        meter_forked();
}
