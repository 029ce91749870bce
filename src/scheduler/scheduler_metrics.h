/* SPDX-License-Identifier: Apache-2.0 */
/* What vgpu-scheduler tells of itself at /metrics. */
#pragma once

#include "cluster.h"
#include "histogram.h"

enum scheduler_verb { VERB_FILTER, VERB_PRIORITIZE, VERB_SIMULATE, VERB_BIND, VERB_PREEMPT, VERBS };

struct scheduler_metrics {               /* zeroed is empty */
        struct histogram seconds[VERBS]; /* as the clock has it */
        struct histogram spent[VERBS];   /* that we were on a core */
};

/* When a verb began. */
struct verb_clock {
        uint64_t now_ns, spent_ns;
};

struct verb_clock verb_clock_now(void);
void scheduler_metrics_add(struct scheduler_metrics *metrics, enum scheduler_verb verb,
                           const struct verb_clock *began);
/* Appends the text for Prometheus. The names are in the order of the numbers. 0 or -ENOMEM. */
int scheduler_metrics_print(const struct scheduler_metrics *metrics, const struct cluster *cluster,
                            const char *const verb_names[static VERBS], bool is_ready,
                            struct str *to);
