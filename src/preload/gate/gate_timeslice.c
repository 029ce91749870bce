/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of time slices; see gate_timeslice.h. One per device, begun and ended under its lock. */
#include "gate_timeslice.h"

#include <errno.h>

#include "clock.h"
#include "futex.h"
#include "gpu_timeslice.h"
#include "ledger.h"
#include "limits.h"
#include "limits_compute.h"
#include "lock.h"
#include "log.h"
#include "region_compute.h"

enum timeslice_use { TIMESLICE_UNKNOWN, TIMESLICE_ABSENT, TIMESLICE_KEPT };

static struct device_timeslice {
        struct lock lock;
        _Atomic uint32_t use; /* enum timeslice_use */
        _Atomic bool has_begun;
        _Atomic bool is_draining; /* has begun, and nothing more may be submitted */
        _Atomic uint32_t count;   /* begun so far */
        struct gpu_timeslice timeslice;
} timeslices[REGION_DEVICES];

static enum timeslice_use timeslice_open(unsigned device_index)
{
        char grant[SHARE_TEXT], want[SHARE_TEXT];
        struct err e = { 0 };

        if (!limits_share_path())
                return TIMESLICE_ABSENT;
        gpu_page_grant_path(limits_share_path(), grant);
        gpu_page_want_path(limits_region_path(), want);
        int r = gpu_timeslice_open(grant, want, device_index, &timeslices[device_index].timeslice,
                                   &e);
        log_debug("device %u: time slices with other containers are %s", device_index,
                  r == 0 ? "kept" : "not kept");
        if (r == 0)
                return TIMESLICE_KEPT;
        if (r != -ENOENT)
                log_warn("no time slices with other containers: %s", e.text);
        return TIMESLICE_ABSENT;
}

bool gate_timeslice_applies(unsigned device_index)
{
        struct device_timeslice *t = &timeslices[device_index];
        uint32_t use = atomic_load_explicit(&t->use, memory_order_acquire);

        if (use != TIMESLICE_UNKNOWN)
                return use == TIMESLICE_KEPT;
        int saved_errno = errno;
        lock_take(&t->lock);
        if (atomic_load(&t->use) == TIMESLICE_UNKNOWN)
                atomic_store(&t->use, timeslice_open(device_index));
        lock_give(&t->lock);
        errno = saved_errno;
        return atomic_load(&t->use) == TIMESLICE_KEPT;
}

bool gate_timeslice_is_on(unsigned device_index, uint64_t done_ns)
{
        struct device_timeslice *t = &timeslices[device_index];

        return atomic_load(&t->has_begun) && !atomic_load(&t->is_draining) &&
               gpu_timeslice_is_on(&t->timeslice, done_ns);
}

bool gate_timeslice_has_begun(unsigned device_index)
{
        return atomic_load(&timeslices[device_index].has_begun);
}

bool gate_timeslice_is_given_up(unsigned device_index)
{
        struct device_timeslice *t = &timeslices[device_index];
        const uint32_t word = atomic_load(&t->timeslice.grant->timeslice);

        if (word == t->timeslice.number || (word & GPU_STATE_MASK) != GPU_FREE)
                return false;
        atomic_store(&t->has_begun, false); /* the process slot stays active: it is */
        return true;
}

uint64_t gate_timeslice_idle_ns(unsigned device_index)
{
        const uint64_t swap_ns = atomic_load(&timeslices[device_index].timeslice.grant->swap_ns);

        return swap_ns > GPU_TIMESLICE_IDLE_NS ? swap_ns : GPU_TIMESLICE_IDLE_NS;
}

uint64_t gate_timeslice_longest_ns(unsigned device_index)
{
        return atomic_load_explicit(&ledger_region()->file->computes[device_index].longest_ns,
                                    memory_order_relaxed);
}

bool gate_timeslice_is_wanted(unsigned device_index)
{
        return gpu_timeslice_deadline_ns(&timeslices[device_index].timeslice) != GPU_NO_DEADLINE;
}

static void busy_note(unsigned device_index, uint64_t done_ns)
{
        const struct region *region = ledger_region();
        uint64_t busy_ns = atomic_load_explicit(
                &region->file->slots[region->slot].gpu_ns[device_index], memory_order_relaxed);

        gpu_timeslice_note(&timeslices[device_index].timeslice, busy_ns, done_ns);
}

/* What it earned while others had the device is kept for it. What it used since it was given up is said first: who
 * used nothing was away. */
static bool begin_and_keep(struct device_timeslice *t, unsigned device_index)
{
        busy_note(device_index, 0);
        const uint64_t begin_ns = clock_now_ns();
        const bool was_elsewhere = gpu_timeslice_begin(&t->timeslice);
        const uint64_t now_ns = clock_now_ns();

        region_compute_keep(&ledger_region()->file->computes[device_index], now_ns,
                            now_ns - begin_ns);
        return was_elsewhere;
}

bool gate_timeslice_begin(unsigned device_index)
{
        struct device_timeslice *t = &timeslices[device_index];
        bool is_cold = false;

        gpu_timeslice_note_memory(&t->timeslice, ledger_used_bytes(device_index));
        lock_take(&t->lock);
        if (!atomic_load(&t->has_begun)) {
                is_cold = begin_and_keep(t, device_index) &&
                          atomic_load(&t->timeslice.grant->flags) & GPU_GRANT_CROWDED;
                atomic_store(&t->is_draining, false);
                atomic_fetch_add(&t->count, 1);
                atomic_store(&t->has_begun, true);
        }
        lock_give(&t->lock);
        return is_cold;
}

uint32_t gate_timeslice_count(unsigned device_index)
{
        return atomic_load(&timeslices[device_index].count);
}

/* The lock may have been waited for while another thread ended this time slice and began the next. */
void gate_timeslice_drain(unsigned device_index, uint32_t count, bool is_end_known)
{
        struct device_timeslice *t = &timeslices[device_index];
        int saved_errno = errno;

        lock_take(&t->lock);
        if (atomic_load(&t->has_begun) && atomic_load(&t->count) == count &&
            !atomic_exchange(&t->is_draining, true) && is_end_known)
                gpu_timeslice_drain(&t->timeslice);
        lock_give(&t->lock);
        errno = saved_errno;
}

bool gate_timeslice_is_draining(unsigned device_index, uint32_t count)
{
        const struct device_timeslice *t = &timeslices[device_index];

        return atomic_load(&t->has_begun) && atomic_load(&t->is_draining) &&
               atomic_load(&t->count) == count;
}

uint64_t gate_timeslice_owed_ns(unsigned device_index)
{
        const unsigned permille = limits_compute_permille(device_index);
        const struct region_compute *compute = &ledger_region()->file->computes[device_index];

        if (!permille || permille >= COMPUTE_WHOLE)
                return 0;
        return region_compute_owed_ns(compute, region_compute_rate(compute, permille),
                                      clock_now_ns());
}

void gate_timeslice_end(unsigned device_index, uint32_t count, bool wants_more)
{
        struct device_timeslice *t = &timeslices[device_index];
        int saved_errno = errno;

        lock_take(&t->lock);
        if (atomic_load(&t->has_begun) && atomic_load(&t->count) == count) {
                atomic_store(&t->has_begun, false);
                gpu_timeslice_end(&t->timeslice, wants_more);
        }
        lock_give(&t->lock);
        errno = saved_errno;
}

void gate_timeslice_wait_grant(unsigned device_index, uint64_t most_ns)
{
        const struct gpu_timeslice *timeslice = &timeslices[device_index].timeslice;
        int saved_errno = errno;

        futex_wait(&timeslice->grant->timeslice, timeslice->number, most_ns);
        errno = saved_errno;
}

uint64_t gate_timeslice_in_flight_ns(unsigned device_index, uint64_t default_ns)
{
        if (!gate_timeslice_applies(device_index))
                return default_ns;
        uint64_t bound_ns =
                gpu_timeslice_in_flight_ns(&timeslices[device_index].timeslice, default_ns);
        return bound_ns < default_ns ? bound_ns : default_ns;
}

void gate_timeslice_note(unsigned device_index, uint64_t done_ns)
{
        busy_note(device_index, done_ns);
        gpu_timeslice_note_memory(&timeslices[device_index].timeslice,
                                  ledger_used_bytes(device_index));
}

void gate_timeslice_tell_memory(unsigned device_index)
{
        if (gate_timeslice_applies(device_index))
                gpu_timeslice_tell_memory(&timeslices[device_index].timeslice,
                                          ledger_used_bytes(device_index),
                                          ledger_managed_bytes(device_index));
}

uint64_t gate_timeslice_others_bytes(unsigned device_index)
{
        const struct gpu_timeslice *timeslice = &timeslices[device_index].timeslice;

        return gate_timeslice_applies(device_index) ? atomic_load(&timeslice->grant->others_bytes)
                                                    : 0;
}

void gate_timeslice_forked(void)
{
        for (unsigned i = 0; i < REGION_DEVICES; i++) {
                timeslices[i].lock = (struct lock){ 0 };
                timeslices[i].timeslice.slot = NULL; /* the parent's */
                atomic_store(&timeslices[i].is_draining, false);
                atomic_store(&timeslices[i].has_begun, false);
        }
}
