/* SPDX-License-Identifier: Apache-2.0 */
/* What vgpu-webhook tells of itself. */
#include "webhook_metrics.h"

#include <inttypes.h>

#include "clock.h"

static const char *const sides[] = { [REVIEW_MUTATE] = "mutate", [REVIEW_VALIDATE] = "validate" };
static const char *const outcomes[WEBHOOK_OUTCOMES] = { "left", "changed", "refused", "broken" };

struct webhook_clock webhook_clock_now(void)
{
        return (struct webhook_clock){ clock_now_ns(), clock_spent_ns() };
}

void webhook_metrics_add(struct webhook_metrics *metrics, enum review_side side, unsigned outcome,
                         const struct webhook_clock *began)
{
        histogram_add(&metrics->seconds[side], clock_now_ns() - began->now_ns);
        histogram_add(&metrics->spent[side], clock_spent_ns() - began->spent_ns);
        metrics->outcomes[side][outcome]++;
}

int webhook_metrics_print(const struct webhook_metrics *metrics, struct str *to)
{
        static const char name[] = "vgpu_webhook_reviews_total";
        const struct histogram_family seconds = { "vgpu_webhook_review_seconds",
                                                  "From a whole request to its answer.", "side",
                                                  sides, 2 };
        const struct histogram_family spent = { "vgpu_webhook_review_cpu_seconds",
                                                "Of that, what was spent on a core.", "side", sides,
                                                2 };
        int r = histogram_print_family(metrics->seconds, &seconds, to);

        if (r == 0)
                r = histogram_print_family(metrics->spent, &spent, to);
        if (r == 0)
                r = str_appendf(to, "# HELP %s Reviews by side and outcome.\n# TYPE %s counter\n",
                                name, name);
        for (unsigned side = 0; side < 2; side++)
                for (unsigned i = 0; i < WEBHOOK_OUTCOMES && r == 0; i++)
                        r = str_appendf(to, "%s{side=\"%s\",outcome=\"%s\"} %" PRIu64 "\n", name,
                                        sides[side], outcomes[i], metrics->outcomes[side][i]);
        return r;
}
