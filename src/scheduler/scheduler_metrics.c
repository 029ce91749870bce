/* SPDX-License-Identifier: Apache-2.0 */
/* What vgpu-scheduler tells of itself. */
#include "scheduler_metrics.h"

#include "clock.h"

struct verb_clock verb_clock_now(void)
{
        return (struct verb_clock){ clock_now_ns(), clock_spent_ns() };
}

void scheduler_metrics_add(struct scheduler_metrics *metrics, enum scheduler_verb verb,
                           const struct verb_clock *began)
{
        histogram_add(&metrics->seconds[verb], clock_now_ns() - began->now_ns);
        histogram_add(&metrics->spent[verb], clock_spent_ns() - began->spent_ns);
}

static int gauge_print(const char *name, const char *help, uint64_t value, struct str *to)
{
        return str_appendf(to, "# HELP %s %s\n# TYPE %s gauge\n%s %llu\n", name, help, name, name,
                           (unsigned long long)value);
}

int scheduler_metrics_print(const struct scheduler_metrics *metrics, const struct cluster *cluster,
                            const char *const verb_names[static VERBS], bool is_ready,
                            struct str *to)
{
        const struct histogram_family seconds = {
                "vgpu_scheduler_verb_seconds",
                "From a whole request to its answer; of bind without the API server's time.",
                "verb", verb_names, VERBS
        };
        const struct histogram_family spent = { "vgpu_scheduler_verb_cpu_seconds",
                                                "Of that, what was spent on a core.", "verb",
                                                verb_names, VERBS };
        int r = histogram_print_family(metrics->seconds, &seconds, to);

        if (r == 0)
                r = histogram_print_family(metrics->spent, &spent, to);
        if (r == 0)
                r = gauge_print("vgpu_scheduler_ready", "1: nodes and pods are known.", is_ready,
                                to);
        if (r == 0)
                r = gauge_print("vgpu_scheduler_nodes",
                                "Nodes with GPUs, or with pods that hold some.",
                                cluster->nodes.count, to);
        if (r == 0)
                r = gauge_print("vgpu_scheduler_pods", "Pods that hold shares of GPUs.",
                                cluster->pods.count, to);
        return r;
}
