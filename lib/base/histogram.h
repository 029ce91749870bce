/* SPDX-License-Identifier: Apache-2.0 */
/* histogram: how long things took, counted in steps of 1, 2, 5; and as text for Prometheus. */
#pragma once

#include <stdint.h>

#include "str.h"

enum { HISTOGRAM_STEPS = 16 };

struct histogram {                            /* zeroed is empty */
        uint64_t counts[HISTOGRAM_STEPS + 1]; /* the last: longer than all steps */
        uint64_t sum_ns;
};

void histogram_add(struct histogram *histogram, uint64_t ns);

/* NAME_bucket, NAME_sum and NAME_count, in seconds. Labels as they stand between braces: `verb="bind"`.
 * The lines # HELP and # TYPE are the caller's, once per name. 0 or -ENOMEM. */
int histogram_print(const struct histogram *histogram, const char *name, const char *labels,
                    struct str *to);

/* A family of them, one for each value of a label, after the lines # HELP and # TYPE. */
struct histogram_family {
        const char *name, *help, *label;
        const char *const *values; /* of the label, as many as there are histograms */
        unsigned count;
};
int histogram_print_family(const struct histogram *histograms,
                           const struct histogram_family *family, struct str *to);
