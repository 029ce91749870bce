/* SPDX-License-Identifier: Apache-2.0 */
/* meter_outstanding: what was submitted and is not known to be done: also what threads have not closed yet. */
#include "clock.h"
#include "gate_compute.h"
#include "meter.h"
#include "meter_device.h"
#include "stream_end.h"

static bool has_open(const struct device_meter *a)
{
        return atomic_load_explicit(&a->has_open, memory_order_relaxed);
}

static bool is_open(const struct segment *s, unsigned device_index)
{
        return s->state == SEGMENT_OPEN && s->device_index == device_index;
}

/* 0: no time yet. */
static uint64_t earlier(uint64_t since_ns, uint64_t at_ns)
{
        return !since_ns || at_ns < since_ns ? at_ns : since_ns;
}

void meter_pending_note(const struct device_meter *a, unsigned device_index)
{
        uint64_t since_ns = 0;

        for (const struct segment *s = a->first; s; s = s->next)
                since_ns = earlier(since_ns, s->open_ns);
        for (const struct segment *s = a->leaving; s; s = s->next)
                since_ns = earlier(since_ns, s->open_ns);
        for (unsigned i = 0; has_open(a) && i < segment_count(); i++) {
                const struct segment *s = segment_at(i);

                if (is_open(s, device_index) && s->works_since_ns)
                        since_ns = earlier(since_ns, s->works_since_ns);
        }
        gate_compute_pending(device_index, since_ns, a->planned_ns);
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

/* The same for a thread that has no context. The caller holds the device's lock. */
static bool segment_works_anywhere(const struct segment *s)
{
        CUcontext popped;

        if (real_cuda.cuCtxPushCurrent_v2((CUcontext)(uintptr_t)s->context) != CUDA_SUCCESS)
                return false;
        const bool works = segment_works(s);
        real_cuda.cuCtxPopCurrent_v2(&popped);
        return works;
}

/* The caller holds the device's lock. */
static bool open_segments_work(unsigned device_index)
{
        bool works = false;

        for (unsigned i = 0; i < segment_count() && !works; i++) {
                const struct segment *s = segment_at(i);

                works = is_open(s, device_index) && segment_works_anywhere(s);
        }
        return works;
}

uint64_t meter_left_ns(unsigned device_index)
{
        struct device_meter *a = &meter_devices[device_index];

        meter_harvest(device_index);
        lock_take(&a->lock);
        uint64_t left_ns = a->first ? a->planned_ns + 1 : open_segments_work(device_index);
        lock_give(&a->lock);
        return left_ns;
}

/* Has somebody else harvested? The caller alone is told so once. */
static bool is_harvested(struct device_meter *a)
{
        lock_take(&a->lock);
        const bool is_harvested = a->harvests != a->harvests_seen;
        a->harvests_seen = a->harvests;
        lock_give(&a->lock);
        return is_harvested;
}

/* Since when the device may work for segments that are open, segment by segment: a thread may leave one open for ever. One
 * that had no work when we last looked, and has some now, has it since now. The caller holds the lock. */
static void open_segments_query(struct device_meter *a, unsigned device_index, uint64_t now_ns)
{
        bool is_any = false;

        for (unsigned i = 0; i < segment_count(); i++) {
                struct segment *s = segment_at(i);

                if (!is_open(s, device_index))
                        continue;
                is_any = true;
                if (!segment_works_anywhere(s))
                        s->works_since_ns = 0;
                else if (!s->works_since_ns)
                        s->works_since_ns = now_ns;
        }
        atomic_store_explicit(&a->has_open, is_any, memory_order_relaxed);
        meter_pending_note(a, device_index);
}

/* 0: there is none. The caller holds the lock. */
static uint64_t oldest_age_ns(const struct device_meter *a, unsigned device_index, uint64_t now_ns)
{
        uint64_t since_ns = 0;

        for (const struct segment *s = a->first; s; s = s->next)
                since_ns = earlier(since_ns, s->open_ns);
        for (unsigned i = 0; has_open(a) && i < segment_count(); i++) {
                const struct segment *s = segment_at(i);

                if (is_open(s, device_index) && s->works_since_ns)
                        since_ns = earlier(since_ns, s->works_since_ns);
        }
        return since_ns && since_ns < now_ns ? now_ns - since_ns : since_ns != 0;
}

struct outstanding meter_harvest_remainder(void)
{
        struct outstanding outstanding = { 0 };

        for (unsigned i = 0; i < REGION_DEVICES; i++) {
                struct device_meter *a = &meter_devices[i];

                if (!atomic_load(&a->closed) && !has_open(a))
                        continue;
                const bool was_harvested = is_harvested(a);
                if (!was_harvested) {
                        meter_harvest(i);
                        is_harvested(a); /* by us */
                }
                const uint64_t now_ns = clock_now_ns();
                lock_take(&a->lock);
                if (has_open(a))
                        open_segments_query(a, i, now_ns);
                const uint64_t age_ns = was_harvested ? 0 : oldest_age_ns(a, i, now_ns);
                lock_give(&a->lock);
                outstanding.is_harvested |= was_harvested;
                if (age_ns > outstanding.age_ns)
                        outstanding.age_ns = age_ns;
        }
        return outstanding;
}
