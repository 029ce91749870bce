/* SPDX-License-Identifier: Apache-2.0 */
/* limits_source: where limits come from: a share, or the environment. */
#pragma once

#include <stddef.h>

#include "share.h"

struct limits_source {
        struct share share;            /* file ≠ NULL: the authority */
        struct share_copy environment; /* otherwise; and what it tightens of the share */
};

/* The device's row as it is now; NULL: it has none. */
static inline const struct share_device *limits_source_device(const struct limits_source *source,
                                                              unsigned device_index)
{
        const struct share_copy *copy =
                source->share.file ? share_current(&source->share) : &source->environment;

        return device_index < copy->device_count ? &copy->devices[device_index] : NULL;
}
