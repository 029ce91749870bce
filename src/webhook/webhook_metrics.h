/* SPDX-License-Identifier: Apache-2.0 */
/* What vgpu-webhook tells of itself at /metrics. */
#pragma once

#include "histogram.h"
#include "review.h"

/* Beside what a review comes to: it was none. */
enum { WEBHOOK_BROKEN = REVIEW_REFUSED + 1, WEBHOOK_OUTCOMES };

struct webhook_metrics {                       /* zeroed is empty */
        struct histogram seconds[2], spent[2]; /* by enum review_side */
        uint64_t outcomes[2][WEBHOOK_OUTCOMES];
};

struct webhook_clock {
        uint64_t now_ns, spent_ns;
};
struct webhook_clock webhook_clock_now(void);

void webhook_metrics_add(struct webhook_metrics *metrics, enum review_side side, unsigned outcome,
                         const struct webhook_clock *began);
/* 0 or -ENOMEM. */
int webhook_metrics_print(const struct webhook_metrics *metrics, struct str *to);
