/* SPDX-License-Identifier: Apache-2.0 */
/* kube_reason: why our programs write Events. docs/reference/compatibility.md promises these reasons. */
#pragma once

enum kube_reason {
        KUBE_REASON_SHARE_VIOLATION,
        KUBE_REASON_GROWTH_REVOKED,
        KUBE_REASON_RESIZE_REFUSED,
        KUBE_REASON_PREEMPTING,
        KUBE_REASON_PREEMPTED,
        KUBE_REASON_PREEMPTION_BLOCKED,
        KUBE_REASONS,
};

struct kube_reason_row {
        const char *text; /* as kubectl shows it */
        const char *type; /* "Normal", "Warning" */
};

extern const struct kube_reason_row kube_reasons[KUBE_REASONS];
