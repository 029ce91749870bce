/* SPDX-License-Identifier: Apache-2.0 */
/* meter_end: contexts that end, with what was submitted in them; and forked children. */
#include <errno.h>
#include <time.h>

#include "clock.h"
#include "meter.h"
#include "meter_device.h"

/* The driver itself waits for the work of a context that it destroys; not for longer than this do we,
 * before a call that may do something else. */
#define WAIT_MOST_NS NS_PER_S
#define NAP_LEAST_NS (50 * NS_PER_US)
#define NAP_MOST_NS  (2 * NS_PER_MS)
enum { NAP_PART = 16 }; /* of what was waited */

/* The caller holds the lock. */
static bool context_has_work(const struct device_meter *a, uint64_t context)
{
        for (const struct segment *s = a->first; s; s = s->next)
                if (s->context == context)
                        return true;
        return false;
}

static void work_await(struct device_meter *a, unsigned device_index, uint64_t context)
{
        const uint64_t begin_ns = clock_now_ns();
        bool has_work = true;

        while (has_work) {
                meter_harvest(device_index);
                lock_take(&a->lock);
                has_work = context_has_work(a, context);
                lock_give(&a->lock);
                const uint64_t waited_ns = clock_now_ns() - begin_ns;
                if (!has_work || waited_ns > WAIT_MOST_NS)
                        return;
                uint64_t nap_ns = waited_ns / NAP_PART;
                nap_ns = nap_ns < NAP_LEAST_NS  ? NAP_LEAST_NS
                         : nap_ns > NAP_MOST_NS ? NAP_MOST_NS
                                                : nap_ns;
                nanosleep(&(struct timespec){ .tv_nsec = (long)nap_ns }, NULL);
        }
}

/* What is not done is nobody's to ask for while the context is being destroyed. What threads have not
 * closed was charged by estimate, and stays so. */
static void context_leave(struct device_meter *a, uint64_t context)
{
        for (struct segment **link = &a->first, *s; (s = *link);) {
                if (s->context != context) {
                        link = &s->next;
                        continue;
                }
                meter_list_take(a, link);
                s->next = a->leaving;
                a->leaving = s;
        }
        a->guesses = 0; /* counted anew by the next who harvests */
        for (unsigned i = 0; i < segment_count(); i++) {
                struct segment *s = segment_at(i);
                if (s->state == SEGMENT_OPEN && s->context == context &&
                    a == &meter_devices[s->device_index])
                        meter_segment_end(a, s);
        }
}

void meter_context_ends(uint64_t context)
{
        const int device_index = marker_device_index(context);

        if (device_index < 0)
                return;
        struct device_meter *a = &meter_devices[device_index];
        const CUstreamCaptureMode mode = meter_relax();
        const int saved_errno = errno;
        work_await(a, (unsigned)device_index, context);
        lock_take(&a->lock);
        context_leave(a, context);
        lock_give(&a->lock);
        errno = saved_errno;
        meter_restore(mode);
}

/* Its events went with the context. */
static void segment_gone(struct device_meter *a, struct segment *s, uint64_t now_ns)
{
        meter_segment_count(a, s, s->open_ns, now_ns);
        s->begin = NULL;
        s->end = NULL;
        meter_segment_end(a, s);
}

void meter_context_ended(uint64_t context, bool is_gone)
{
        const int device_index = marker_device_index(context);

        if (device_index < 0)
                return;
        struct device_meter *a = &meter_devices[device_index];
        const uint64_t now_ns = clock_now_ns();
        lock_take(&a->lock);
        for (struct segment **link = &a->leaving, *s; (s = *link);) {
                if (s->context != context) {
                        link = &s->next;
                        continue;
                }
                *link = s->next;
                if (is_gone)
                        segment_gone(a, s, now_ns);
                else
                        meter_list_append(a, s);
        }
        if (is_gone)
                marker_pool_gone(context);
        meter_pending_note(a, (unsigned)device_index);
        lock_give(&a->lock);
}

void meter_forked(void)
{
        for (unsigned i = 0; i < REGION_DEVICES; i++)
                meter_devices[i] = (struct device_meter){ 0 };
        segment_forked();
        marker_forked();
}
