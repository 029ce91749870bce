/* Limits of compute. */
#include "limits_compute.h"

#include "limits.h"
#include "region_compute.h"
#include "share.h"

static struct {
        _Atomic uint32_t limits;                       /* by environment: enum share_limits */
        _Atomic uint32_t tight_percent[SHARE_DEVICES]; /* by account of the share; 0: nothing */
        _Atomic bool has_copies[SHARE_DEVICES];        /* the same */
        const _Atomic uint32_t *share; /* enum share_limits of the share; NULL: there is none */
} limits_compute;
const _Atomic uint32_t *limits_compute_switch = &limits_compute.limits;

void limits_compute_by_environment(const struct share_copy *environment)
{
        atomic_store(&limits_compute.limits, share_limits_compute(environment));
}

/* Does the environment ask for anything that a share may not? */
static bool asks_for_more(const struct share_copy *environment)
{
        bool asks = share_limits_compute(environment) != 0;

        for (unsigned i = 0; i < environment->device_count; i++)
                asks |= (environment->devices[i].flags & SHARE_COPIES_COUNT) != 0;
        return asks;
}

void limits_compute_by_share(const struct share_file *file, const struct share_copy *environment)
{
        limits_compute.share = &file->limits_compute;
        if (asks_for_more(environment)) /* what holds is looked up, device by device */
                atomic_store(&limits_compute.limits, SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_COPIES);
        else
                limits_compute_switch = &file->limits_compute;
}

void limits_compute_tighten(unsigned account, const struct share_device *row)
{
        atomic_store(&limits_compute.tight_percent[account], share_cap_percent(row));
        atomic_store(&limits_compute.has_copies[account], (row->flags & SHARE_COPIES_COUNT) != 0);
}

static bool takes_turns(void)
{
        return limits_compute.share &&
               atomic_load_explicit(limits_compute.share, memory_order_relaxed) &
                       SHARE_LIMITS_TURNS;
}

unsigned limits_compute_permille(unsigned account)
{
        const struct share_device *device = limits_device(account);

        if (!device)
                return 0;
        unsigned given = share_cap_percent(device);
        unsigned tight =
                atomic_load_explicit(&limits_compute.tight_percent[account], memory_order_relaxed);
        if (tight && (!given || tight < given))
                given = tight;
        else if (device->cores_percent >= 100) /* the whole device: nothing to limit */
                given = 0;
        return given || !takes_turns() ? given * 10 : COMPUTE_WHOLE;
}

bool limits_compute_has_copies(unsigned account)
{
        const struct share_device *device = limits_device(account);

        return device &&
               (device->flags & SHARE_COPIES_COUNT ||
                atomic_load_explicit(&limits_compute.has_copies[account], memory_order_relaxed));
}
