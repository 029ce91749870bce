/* What vgpu-scheduler tells of itself. */
#include "scheduler_metrics.h"

#include <stdio.h>

#include "clock.h"

static const char *const verb_names[VERBS] = { "filter", "prioritize", "simulate", "bind",
                                               "preempt" };

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

static int histograms_print(const struct histogram *of_verbs, const char *name, const char *help,
                            struct str *to)
{
        int r = str_appendf(to, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);

        for (unsigned i = 0; i < VERBS && r == 0; i++) {
                char labels[32];

                snprintf(labels, sizeof labels, "verb=\"%s\"", verb_names[i]);
                r = histogram_print(&of_verbs[i], name, labels, to);
        }
        return r;
}

static int gauge_print(const char *name, const char *help, uint64_t value, struct str *to)
{
        return str_appendf(to, "# HELP %s %s\n# TYPE %s gauge\n%s %llu\n", name, help, name, name,
                           (unsigned long long)value);
}

int scheduler_metrics_print(const struct scheduler_metrics *metrics, const struct cluster *cluster,
                            bool is_ready, struct str *to)
{
        int r = histograms_print(metrics->seconds, "vgpu_scheduler_verb_seconds",
                                 "From a whole request to its answer; of bind without the API "
                                 "server's time.",
                                 to);

        if (r == 0)
                r = histograms_print(metrics->spent, "vgpu_scheduler_verb_cpu_seconds",
                                     "Of that, what was spent on a core.", to);
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
