/* SPDX-License-Identifier: Apache-2.0 */
/* correction: one signed number per device. */
#include "correction.h"

static _Atomic int64_t corrections[REGION_DEVICES];

void correction_add(struct region *region, unsigned device_index, uint64_t bytes)
{
        region_charge(region, device_index, REGION_OTHER, bytes, UINT64_MAX);
        atomic_fetch_add(&corrections[device_index], (int64_t)bytes);
}

void correction_take(struct region *region, unsigned device_index, uint64_t bytes)
{
        region_refund(region, device_index, REGION_OTHER, bytes);
        atomic_fetch_sub(&corrections[device_index], (int64_t)bytes);
}

bool correction_is_owed(unsigned device_index)
{
        return atomic_load_explicit(&corrections[device_index], memory_order_relaxed) < 0;
}

uint64_t correction_pay(struct region *region, unsigned device_index, enum region_kind kind,
                        uint64_t bytes)
{
        int64_t owed = atomic_load(&corrections[device_index]);
        uint64_t paid;

        do {
                if (owed >= 0)
                        return 0;
                paid = (uint64_t)-owed < bytes ? (uint64_t)-owed : bytes;
        } while (!atomic_compare_exchange_strong(&corrections[device_index], &owed,
                                                 owed + (int64_t)paid));
        /* It was given back as other memory. */
        region_rename(region, device_index, kind, REGION_OTHER, paid);
        return paid;
}
