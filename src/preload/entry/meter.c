/* meter: segments from their first work to what was learned of them. */
#include "meter.h"

#include "clock.h"
#include "cost.h"
#include "gate_compute.h"
#include "lock.h"
#include "region_layout.h"
#include "scope.h"
#include "stream_end.h"

enum { LOOK_MOST = 64 };
#define COMPARE_NS (100 * NS_PER_MS) /* the clocks of device and host, at least this often */
#define CLOSE_NS   (20 * NS_PER_US)  /* more between clock and event: this thread was not running */
enum { COMPARE_TRIES = 4 };

/* One per account: what one lock guards. */
struct account_meter {
        struct lock lock;
        struct segment *first, **last; /* closed, in that order */
        struct busy_set busy;
        uint64_t planned_ns;  /* of these */
        uint64_t due_ns;      /* when all of these should be done */
        uint64_t compared_ns; /* when an event was last put on an idle stream */
        unsigned guesses;
};

static struct {
        struct account_meter accounts[REGION_DEVICES];
} meter;

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

/* True: the segment is ours still. The caller holds its account's lock. */
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
static void begin_mark(struct account_meter *a, struct segment *s, CUstream stream)
{
        const bool is_idle = real_cuda.cuStreamQuery(stream) == CUDA_SUCCESS;
        const uint64_t now_ns = clock_now_ns();

        if (is_idle && now_ns - a->compared_ns < COMPARE_NS)
                return;
        s->begin = mark(s, stream, &s->begin_recorded_ns);
        if (is_idle && s->begin)
                mark_closely(s, stream);
        if (is_idle)
                a->compared_ns = now_ns;
}

/* The caller holds the account's lock. */
static void crowd_note(struct segment *s)
{
        for (unsigned i = 0; i < segment_count(); i++) {
                struct segment *other = segment_at(i);
                if (other->state == SEGMENT_FREE || other->account != s->account ||
                    (other->stream == s->stream && other->context == s->context))
                        continue;
                s->is_crowded = true;
                other->is_crowded = true;
        }
}

struct segment_ref meter_open(const struct place *place, CUstream stream)
{
        struct account_meter *a = &meter.accounts[place->account];
        struct segment_ref ref = { 0 };

        lock_take(&a->lock);
        struct marker_pool *markers = marker_pool_of(place->context, (unsigned)place->account);
        struct segment *s = markers ? segment_take() : NULL;
        if (s) {
                s->account = (unsigned)place->account;
                s->markers = markers;
                s->context = place->context;
                s->stream = stream;
                s->streams_ended = stream_end_count();
                crowd_note(s);
                begin_mark(a, s, stream);
                s->open_ns = clock_now_ns();
                ref = (struct segment_ref){ s, s->number };
        }
        lock_give(&a->lock);
        return ref;
}

/* The caller holds the account's lock. */
static void segment_end(struct account_meter *a, struct segment *s)
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
        struct account_meter *a = &meter.accounts[ref.segment->account];
        lock_take(&a->lock);
        if (ref_holds(ref))
                segment_end(a, ref.segment);
        lock_give(&a->lock);
}

static void list_append(struct account_meter *a, struct segment *s)
{
        if (!a->first)
                a->last = &a->first;
        *a->last = s;
        a->last = &s->next;
        s->next = NULL;
}

void meter_close(struct segment_ref ref, CUstream stream, const struct segment_end *end)
{
        if (!ref.segment)
                return;
        struct account_meter *a = &meter.accounts[ref.segment->account];
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
                segment_end(a, s);
        } else {
                s->state = SEGMENT_CLOSED;
                a->planned_ns += end->planned_ns;
                if (a->due_ns < s->end_recorded_ns || !a->first)
                        a->due_ns = s->end_recorded_ns;
                a->due_ns += end->planned_ns;
                a->guesses += end->cost && cost_table[end->cost].ns == COST_UNKNOWN_NS;
                list_append(a, s);
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

static void span_count(struct account_meter *a, unsigned account, struct span span,
                       struct measured *measured)
{
        struct span parts[BUSY_SPANS + 1];
        unsigned count = busy_set_add(&a->busy, span, parts);

        for (unsigned i = 0; i < count; i++) {
                measured->own_ns += parts[i].end_ns - parts[i].begin_ns;
                measured->used_ns += gate_compute_used(account, parts[i].begin_ns, parts[i].end_ns);
        }
}

static void segment_settle(struct account_meter *a, struct segment *s)
{
        uint64_t now_ns = clock_now_ns(), begin_ns = 0, end_ns;

        if (s->begin)
                marker_time_ns(s->markers, s->begin, s->begin_recorded_ns, now_ns, &begin_ns);
        if (s->begin && !marker_is_ready(s->markers))
                marker_refer(s->markers, steal(s->begin));
        if (begin_ns < s->open_ns)
                begin_ns = s->open_ns;
        if (!marker_time_ns(s->markers, s->end, s->end_recorded_ns, now_ns, &end_ns))
                return;
        marker_refer(s->markers, steal(s->end));
        struct span early, late;
        segment_spans(s, begin_ns, end_ns, &early, &late);
        struct measured m = { 0 };
        span_count(a, s->account, early, &m);
        span_count(a, s->account, late, &m);
        if (s->facts.cost) {
                cost_learn(s->facts.cost, m.own_ns, s->is_crowded);
                gate_compute_saw(s->account, s->is_crowded ? 0 : m.own_ns);
        }
        gate_compute_correct(s->account, (int64_t)m.used_ns - (int64_t)s->facts.planned_ns);
}

static bool is_guess(const struct segment *s)
{
        return s->facts.cost && cost_table[s->facts.cost].ns == COST_UNKNOWN_NS;
}

void meter_harvest(unsigned account)
{
        struct account_meter *a = &meter.accounts[account];
        unsigned looked = 0;

        lock_take(&a->lock);
        for (struct segment **place = &a->first, *s; (s = *place) && looked < LOOK_MOST; looked++) {
                CUresult r = real_cuda.cuEventQuery(s->end);
                if (r == CUDA_ERROR_NOT_READY) {
                        place = &s->next;
                        continue;
                }
                *place = s->next;
                if (!*place)
                        a->last = place;
                if (r == CUDA_SUCCESS)
                        segment_settle(a, s);
                segment_end(a, s);
        }
        a->guesses = 0;
        for (struct segment *s = a->first; s; s = s->next)
                a->guesses += is_guess(s);
        lock_give(&a->lock);
}

struct backlog meter_backlog(unsigned account)
{
        struct account_meter *a = &meter.accounts[account];

        lock_take(&a->lock);
        struct backlog backlog = { .planned_ns = a->planned_ns,
                                   .due_ns = a->due_ns,
                                   .oldest = a->first ? a->first->stream : NULL,
                                   .is_guess = a->guesses > 0 };
        lock_give(&a->lock);
        return backlog;
}

/* Work of a segment that is still open, and whose stream cannot have become another's. */
static bool segment_works(const struct segment *s)
{
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

        if (!stream_end_spared(s->stream, s->streams_ended))
                return false;
        if (real_cuda.cuStreamIsCapturing &&
            (real_cuda.cuStreamIsCapturing(s->stream, &status) != CUDA_SUCCESS ||
             status != CU_STREAM_CAPTURE_STATUS_NONE))
                return false;
        return real_cuda.cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY;
}

/* The caller holds the account's lock. */
static bool open_segments_work(unsigned account)
{
        bool works = false;

        for (unsigned i = 0; i < segment_count() && !works; i++) {
                const struct segment *s = segment_at(i);
                CUcontext popped;

                if (s->state != SEGMENT_OPEN || s->account != account ||
                    real_cuda.cuCtxPushCurrent_v2((CUcontext)(uintptr_t)s->context) != CUDA_SUCCESS)
                        continue;
                works = segment_works(s);
                real_cuda.cuCtxPopCurrent_v2(&popped);
        }
        return works;
}

uint64_t meter_left_ns(unsigned account)
{
        struct account_meter *a = &meter.accounts[account];

        meter_harvest(account);
        lock_take(&a->lock);
        uint64_t left_ns = a->first ? a->planned_ns + 1 : open_segments_work(account);
        lock_give(&a->lock);
        return left_ns;
}

static void account_forget(struct account_meter *a, uint64_t context)
{
        for (struct segment **place = &a->first, *s; (s = *place);) {
                if (s->context != context) {
                        place = &s->next;
                        continue;
                }
                *place = s->next;
                if (!*place)
                        a->last = place;
                segment_end(a, s);
        }
        for (unsigned i = 0; i < segment_count(); i++) {
                struct segment *s = segment_at(i);
                if (s->state == SEGMENT_OPEN && s->context == context &&
                    a == &meter.accounts[s->account])
                        segment_end(a, s);
        }
}

void meter_context_ends(uint64_t context)
{
        int account = marker_account(context);

        if (account < 0)
                return;
        struct account_meter *a = &meter.accounts[account];
        CUstreamCaptureMode mode = meter_relax();
        meter_harvest((unsigned)account);
        lock_take(&a->lock);
        account_forget(a, context);
        marker_pool_end(context);
        lock_give(&a->lock);
        meter_restore(mode);
}

void meter_forked(void)
{
        for (unsigned i = 0; i < REGION_DEVICES; i++)
                meter.accounts[i] = (struct account_meter){ 0 };
        segment_forked();
        marker_forked();
}
