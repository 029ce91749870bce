/* Limits of compute. */
#include "limits_compute.h"

#include "limits.h"
#include "share.h"

static struct {
        _Atomic uint32_t is_on;                        /* by environment */
        _Atomic uint32_t tight_percent[SHARE_DEVICES]; /* by account of the share; 0: nothing */
} limits_compute;
const _Atomic uint32_t *limits_compute_switch = &limits_compute.is_on;

void limits_compute_by_environment(const struct share_copy *environment)
{
        atomic_store(&limits_compute.is_on, share_limits_compute(environment));
}

void limits_compute_by_share(const struct share_file *file, const struct share_copy *environment)
{
        limits_compute_by_environment(environment);
        if (!atomic_load(&limits_compute.is_on))
                limits_compute_switch = &file->limits_compute;
}

void limits_compute_tighten(unsigned account, const struct share_device *row)
{
        atomic_store(&limits_compute.tight_percent[account], share_cap_percent(row));
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
        return given * 10;
}
