/* SPDX-License-Identifier: Apache-2.0 */
/* Why our programs write Events. */
#include "kube_reason.h"

const struct kube_reason_row kube_reasons[KUBE_REASONS] = {
        [KUBE_REASON_SHARE_VIOLATION] = { "GPUShareViolation", "Warning" },
        [KUBE_REASON_GROWTH_REVOKED] = { "GrowthRevoked", "Warning" },
        [KUBE_REASON_RESIZE_REFUSED] = { "ResizeRefused", "Warning" },
        [KUBE_REASON_PREEMPTING] = { "Preempting", "Normal" },
        [KUBE_REASON_PREEMPTED] = { "Preempted", "Normal" },
        [KUBE_REASON_PREEMPTION_BLOCKED] = { "PreemptionBlocked", "Warning" },
};
