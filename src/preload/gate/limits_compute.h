/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of compute: who may use how much of a device's time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "limits_source.h"

/* Where it is written whether compute is limited: in the share, whose owner may change it at any
 * time. Read on every launch. */
extern const _Atomic uint32_t *limits_compute_switch;

/* Copies and fills count on some device. Read on every one of them. */
static inline bool limits_copies_count(void)
{
        const uint32_t limits = atomic_load_explicit(limits_compute_switch, memory_order_relaxed);

        return __builtin_expect((limits & SHARE_LIMITS_COPIES) != 0, 0);
}

static inline bool limits_compute_is_on(void)
{
        return __builtin_expect(
                atomic_load_explicit(limits_compute_switch, memory_order_relaxed) != 0, 0);
}

/* Where limits come from: one of the two, once, at start. Under a share the environment may take away,
 * never add. */
void limits_compute_by_environment(const struct limits_source *source);
void limits_compute_by_share(const struct limits_source *source);
/* Launches are to be seen, whatever the limits are: what holds is looked up, device by device. */
void limits_compute_watch(void);
/* What the environment says of the device. */
void limits_compute_tighten(unsigned device_index, const struct share_device *row);

/* Thousandths of the device that it may use; 0: no limit. */
unsigned limits_compute_permille(unsigned device_index);
/* The same as the share says it, whatever this process's environment takes away; 0: no share. */
unsigned limits_compute_share_permille(unsigned device_index);
/* Do copies and fills count there? */
bool limits_compute_has_copies(unsigned device_index);
