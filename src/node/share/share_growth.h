/* SPDX-License-Identifier: Apache-2.0 */
/* share_growth: what shares have beyond their allocation (`vgpu set`, annotations, environments). It is revoked
 * when a new pod needs it: the scheduler may have placed the pod before it knew of the growth. */
#pragma once

#include "share_fit.h"

struct share_growth_cut { /* what was taken back */
        struct held_share *held;
        const struct gpu *gpu;
        uint64_t memory_bytes;
        unsigned cores_percent;
};

/* Takes back as much growth as the GPUs of what is wanted lack, the largest first; NULL: of all GPUs, and
 * nothing more is wanted. What was decided is never touched, so that the GPU may still be overcommitted. Reports
 * each cut, when the share has less already. */
void share_growth_yield(const struct share_fit *fit, const struct share_copy *wanted,
                        void (*on_cut)(void *owner, const struct share_growth_cut *cut),
                        void *owner);
