/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of compute. */
#include "limits_compute.h"

#include "region_compute.h"
#include "share.h"

static struct {
        const struct limits_source *source;            /* NULL: nobody said */
        _Atomic uint32_t limits;                       /* by environment: enum share_limits */
        _Atomic uint32_t tight_percent[SHARE_DEVICES]; /* by device of the share; 0: nothing */
        _Atomic bool has_copies[SHARE_DEVICES];        /* the same */
        const _Atomic uint32_t *share; /* enum share_limits of the share; NULL: there is none */
} limits_compute;
const _Atomic uint32_t *limits_compute_switch = &limits_compute.limits;

static const struct share_device *limits_row(unsigned device_index)
{
        return limits_compute.source ? limits_source_device(limits_compute.source, device_index)
                                     : NULL;
}

void limits_compute_by_environment(const struct limits_source *source)
{
        limits_compute.source = source;
        atomic_store(&limits_compute.limits, share_limits_compute(&source->environment));
}

/* Does the environment ask for anything that a share may not? */
static bool asks_for_more(const struct share_copy *environment)
{
        bool asks = share_limits_compute(environment) != 0;

        for (unsigned i = 0; i < environment->device_count; i++)
                asks |= (environment->devices[i].flags & SHARE_COPIES_COUNT) != 0;
        return asks;
}

void limits_compute_by_share(const struct limits_source *source)
{
        const struct share_file *file = source->share.file;

        limits_compute.source = source;
        limits_compute.share = &file->limits_compute;
        if (asks_for_more(&source->environment)) /* what holds is looked up, device by device */
                atomic_store(&limits_compute.limits, SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_COPIES);
        else
                limits_compute_switch = &file->limits_compute;
}

void limits_compute_watch(void)
{
        atomic_store(&limits_compute.limits, SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_COPIES);
        __atomic_store_n(&limits_compute_switch, &limits_compute.limits, __ATOMIC_RELEASE);
}

void limits_compute_tighten(unsigned device_index, const struct share_device *row)
{
        atomic_store(&limits_compute.tight_percent[device_index], share_cap_percent(row));
        atomic_store(&limits_compute.has_copies[device_index],
                     (row->flags & SHARE_COPIES_COUNT) != 0);
}

static bool takes_timeslices(void)
{
        return limits_compute.share &&
               atomic_load_explicit(limits_compute.share, memory_order_relaxed) &
                       SHARE_LIMITS_TIMESLICES;
}

unsigned limits_compute_permille(unsigned device_index)
{
        const struct share_device *device = limits_row(device_index);

        if (!device)
                return 0;
        unsigned given = share_cap_percent(device);
        unsigned tight = atomic_load_explicit(&limits_compute.tight_percent[device_index],
                                              memory_order_relaxed);
        if (tight && (!given || tight < given))
                given = tight;
        else if (device->cores_percent >= 100) /* the whole device: nothing to limit */
                given = 0;
        return given || !takes_timeslices() ? given * 10 : COMPUTE_WHOLE;
}

unsigned limits_compute_share_permille(unsigned device_index)
{
        const struct share_device *device = limits_compute.share ? limits_row(device_index) : NULL;

        return device ? share_cap_percent(device) * 10 : 0;
}

bool limits_compute_has_copies(unsigned device_index)
{
        const struct share_device *device = limits_row(device_index);

        return device && (device->flags & SHARE_COPIES_COUNT ||
                          atomic_load_explicit(&limits_compute.has_copies[device_index],
                                               memory_order_relaxed));
}
