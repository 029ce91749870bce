/* SPDX-License-Identifier: Apache-2.0 */
/* Times, counted in steps. */
#include "histogram.h"

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"

/* From 20 µs to 2 s. */
static const uint64_t steps_us[HISTOGRAM_STEPS] = { 20,     50,     100,     200,    500,   1000,
                                                    2000,   5000,   10000,   20000,  50000, 100000,
                                                    200000, 500000, 1000000, 2000000 };

void histogram_add(struct histogram *histogram, uint64_t ns)
{
        unsigned step = 0;

        while (step < HISTOGRAM_STEPS && ns > steps_us[step] * NS_PER_US)
                step++;
        histogram->counts[step]++;
        histogram->sum_ns += ns;
}

int histogram_print(const struct histogram *histogram, const char *name, const char *labels,
                    struct str *to)
{
        const char *comma = *labels ? "," : "";
        uint64_t count = 0;
        int r = 0;

        for (unsigned i = 0; i < HISTOGRAM_STEPS && r == 0; i++) {
                count += histogram->counts[i];
                r = str_appendf(to, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, labels, comma,
                                (double)steps_us[i] / 1e6, count);
        }
        count += histogram->counts[HISTOGRAM_STEPS];
        if (r == 0)
                r = str_appendf(to,
                                "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n%s_sum{%s} %.9f\n"
                                "%s_count{%s} %" PRIu64 "\n",
                                name, labels, comma, count, name, labels,
                                (double)histogram->sum_ns / 1e9, name, labels, count);
        return r;
}

int histogram_print_family(const struct histogram *histograms,
                           const struct histogram_family *family, struct str *to)
{
        int r = str_appendf(to, "# HELP %s %s\n# TYPE %s histogram\n", family->name, family->help,
                            family->name);

        for (unsigned i = 0; i < family->count && r == 0; i++) {
                char labels[64];

                snprintf(labels, sizeof labels, "%s=\"%s\"", family->label, family->values[i]);
                r = histogram_print(&histograms[i], family->name, labels, to);
        }
        return r;
}
