/* SPDX-License-Identifier: Apache-2.0 */
/* meter: segments from their first work to what was learned of them. What is not done is meter_outstanding.c's. */
#include "meter.h"

#include "clock.h"
#include "cost.h"
#include "gate_compute.h"
#include "meter_device.h"
#include "scope.h"
#include "stream_end.h"

enum { QUERIES_MOST = 64 };          /* events, at a time */
#define COMPARE_NS (100 * NS_PER_MS) /* the clocks of device and host, at least this often */
#define CLOSE_NS   (20 * NS_PER_US)  /* more between clock and event: this thread was not running */
enum { COMPARE_TRIES = 4 };

struct device_meter meter_devices[REGION_DEVICES];

CUstreamCaptureMode meter_relax(void)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

        if (real_cuda.cuThreadExchangeStreamCaptureMode)
                real_cuda.cuThreadExchangeStreamCaptureMode(&mode);
        return mode;
}

void meter_restore(CUstreamCaptureMode mode)
{
        if (real_cuda.cuThreadExchangeStreamCaptureMode)
                real_cuda.cuThreadExchangeStreamCaptureMode(&mode);
}

/* True: the segment is ours still. The caller holds its device's lock. */
static bool ref_holds(struct segment_ref ref)
{
        return ref.segment && ref.segment->number == ref.number;
}

static CUevent mark(struct segment *s, CUstream stream, uint64_t *ret_recorded_ns)
{
        CUevent event = marker_take(s->markers);

        if (!event)
                return NULL;
        *ret_recorded_ns = clock_now_ns();
        if (real_cuda.cuEventRecord(event, stream) == CUDA_SUCCESS)
                return event;
        marker_give(s->markers, event);
        return NULL;
}

/* How far the clocks are apart is known as exactly as this event was near its reading of the host's. */
static void mark_closely(struct segment *s, CUstream stream)
{
        for (unsigned i = 1; i < COMPARE_TRIES; i++) {
                const uint64_t now_ns = clock_now_ns();

                if (now_ns - s->begin_recorded_ns < CLOSE_NS ||
                    real_cuda.cuEventRecord(s->begin, stream) != CUDA_SUCCESS)
                        return;
                s->begin_recorded_ns = now_ns;
        }
}

/* On an idle stream, work begins when it is submitted: an event only compares the clocks. */
static void begin_mark(struct segment *s, CUstream stream)
{
        const bool is_idle = real_cuda.cuStreamQuery(stream) == CUDA_SUCCESS;
        const uint64_t now_ns = clock_now_ns();

        if (is_idle && now_ns - marker_compared_ns(s->markers) < COMPARE_NS)
                return;
        s->begin = mark(s, stream, &s->begin_recorded_ns);
        if (is_idle && s->begin)
                mark_closely(s, stream);
        if (is_idle)
                marker_is_compared(s->markers, now_ns);
}

/* The caller holds the device's lock. */
static void crowd_note(struct segment *s)
{
        for (unsigned i = 0; i < segment_count(); i++) {
                struct segment *other = segment_at(i);
                if (other->state == SEGMENT_FREE || other->device_index != s->device_index ||
                    (other->stream == s->stream && other->context == s->context))
                        continue;
                s->is_crowded = true;
                other->is_crowded = true;
        }
}

struct segment_ref meter_open(const struct target *target, CUstream stream)
{
        struct device_meter *a = &meter_devices[target->device_index];
        struct segment_ref ref = { 0 };

        lock_take(&a->lock);
        struct marker_pool *markers =
                marker_pool_of(target->context, (unsigned)target->device_index);
        struct segment *s = markers ? segment_take() : NULL;
        if (s) {
                s->device_index = (unsigned)target->device_index;
                s->markers = markers;
                s->context = target->context;
                s->stream = stream;
                s->streams_ended = stream_end_count();
                crowd_note(s);
                begin_mark(s, stream);
                s->open_ns = s->works_since_ns = clock_now_ns();
                atomic_store_explicit(&a->has_open, true, memory_order_relaxed);
                meter_pending_note(a, s->device_index);
                ref = (struct segment_ref){ s, s->number };
        }
        lock_give(&a->lock);
        return ref;
}

void meter_segment_end(struct device_meter *a, struct segment *s)
{
        if (s->state == SEGMENT_CLOSED)
                a->planned_ns -= s->facts.planned_ns;
        if (s->begin)
                marker_give(s->markers, s->begin);
        if (s->end)
                marker_give(s->markers, s->end);
        segment_free(s);
}

void meter_drop(struct segment_ref ref)
{
        if (!ref.segment)
                return;
        struct device_meter *a = &meter_devices[ref.segment->device_index];
        lock_take(&a->lock);
        if (ref_holds(ref))
                meter_segment_end(a, ref.segment);
        lock_give(&a->lock);
}

void meter_list_append(struct device_meter *a, struct segment *s)
{
        if (!a->first)
                a->last = &a->first;
        *a->last = s;
        a->last = &s->next;
        s->next = NULL;
        atomic_fetch_add_explicit(&a->closed, 1, memory_order_seq_cst);
}

struct segment *meter_list_take(struct device_meter *a, struct segment **link)
{
        struct segment *s = *link;

        *link = s->next;
        if (!*link)
                a->last = link;
        atomic_fetch_sub_explicit(&a->closed, 1, memory_order_relaxed);
        return s;
}

void meter_close(struct segment_ref ref, CUstream stream, const struct segment_end *end)
{
        if (!ref.segment)
                return;
        struct device_meter *a = &meter_devices[ref.segment->device_index];
        struct segment *s = ref.segment;
        lock_take(&a->lock);
        if (!ref_holds(ref)) {
                lock_give(&a->lock);
                return;
        }
        s->facts = *end;
        if (!s->facts.last_at_ns)
                s->facts.last_at_ns = clock_now_ns();
        s->end = mark(s, stream, &s->end_recorded_ns);
        if (!s->end) {
                meter_segment_end(a, s);
        } else {
                s->state = SEGMENT_CLOSED;
                a->planned_ns += end->planned_ns;
                if (a->due_ns < s->end_recorded_ns || !a->first)
                        a->due_ns = s->end_recorded_ns;
                a->due_ns += end->planned_ns;
                a->guesses += end->cost && cost_table[end->cost].ns == COST_UNKNOWN_NS;
                meter_list_append(a, s);
                meter_pending_note(a, s->device_index);
        }
        lock_give(&a->lock);
}

uint64_t meter_context(struct segment_ref ref)
{
        return ref_holds(ref) ? ref.segment->context : 0;
}

/* Time that only this process's segments know, and of it what the container did not know. */
struct measured {
        uint64_t own_ns, used_ns;
};

static void span_count(struct device_meter *a, unsigned device_index, struct span span,
                       struct measured *measured)
{
        struct span parts[BUSY_SPANS + 1];
        unsigned count = busy_set_add(&a->busy, span, parts);

        for (unsigned i = 0; i < count; i++) {
                measured->own_ns += parts[i].end_ns - parts[i].begin_ns;
                measured->used_ns +=
                        gate_compute_used(device_index, parts[i].begin_ns, parts[i].end_ns);
        }
}

/* Beside other streams the span is an upper bound. What of it nobody else counted is none: whoever is
 * counted first has all. It is a fair first guess. */
static uint64_t cost_of(const struct segment *s, uint64_t own_ns, uint64_t span_ns)
{
        if (!s->is_crowded || (own_ns && cost_table[s->facts.cost].ns == COST_UNKNOWN_NS))
                return own_ns;
        return span_ns;
}

void meter_segment_count(struct device_meter *a, struct segment *s, uint64_t begin_ns,
                         uint64_t end_ns)
{
        struct span early, late;
        struct measured m = { 0 };

        if (begin_ns < s->open_ns)
                begin_ns = s->open_ns;
        segment_spans(s, begin_ns, end_ns, &early, &late);
        span_count(a, s->device_index, early, &m);
        span_count(a, s->device_index, late, &m);
        if (s->facts.cost) {
                cost_learn(s->facts.cost, cost_of(s, m.own_ns, end_ns - begin_ns), s->is_crowded);
                gate_compute_learned(cost_shared(s->facts.cost), cost_table[s->facts.cost].ns);
                gate_compute_saw(s->device_index, s->is_crowded ? 0 : m.own_ns);
        }
        gate_compute_correct(s->device_index, (int64_t)m.used_ns - (int64_t)s->facts.planned_ns);
}

static void segment_settle(struct device_meter *a, struct segment *s)
{
        uint64_t now_ns = clock_now_ns(), begin_ns = 0, end_ns;

        if (s->begin)
                marker_time_ns(s->markers, s->begin, s->begin_recorded_ns, now_ns, &begin_ns);
        if (s->begin && !marker_is_ready(s->markers))
                marker_refer(s->markers, steal(s->begin));
        if (!marker_time_ns(s->markers, s->end, s->end_recorded_ns, now_ns, &end_ns))
                return;
        marker_refer(s->markers, steal(s->end));
        meter_segment_count(a, s, begin_ns, end_ns);
}

static bool is_guess(const struct segment *s)
{
        return s->facts.cost && cost_table[s->facts.cost].ns == COST_UNKNOWN_NS;
}

void meter_harvest(unsigned device_index)
{
        struct device_meter *a = &meter_devices[device_index];
        unsigned queried = 0;

        if (!atomic_load_explicit(&a->closed, memory_order_relaxed))
                return;
        lock_take(&a->lock);
        for (struct segment **link = &a->first, *s; (s = *link) && queried < QUERIES_MOST;
             queried++) {
                CUresult r = real_cuda.cuEventQuery(s->end);
                if (r == CUDA_ERROR_NOT_READY) {
                        link = &s->next;
                        continue;
                }
                meter_list_take(a, link);
                if (r == CUDA_SUCCESS)
                        segment_settle(a, s);
                meter_segment_end(a, s);
        }
        a->guesses = 0;
        for (struct segment *s = a->first; s; s = s->next)
                a->guesses += is_guess(s);
        a->harvests++;
        if (queried)
                meter_pending_note(a, device_index);
        lock_give(&a->lock);
}

struct backlog meter_backlog(unsigned device_index)
{
        struct device_meter *a = &meter_devices[device_index];

        lock_take(&a->lock);
        struct backlog backlog = { .planned_ns = a->planned_ns,
                                   .due_ns = a->due_ns,
                                   .oldest = a->first ? a->first->stream : NULL,
                                   .is_guess = a->guesses > 0,
                                   .is_single = a->first && !a->first->next };
        lock_give(&a->lock);
        return backlog;
}
