/* SPDX-License-Identifier: Apache-2.0 */
/* kueue_rows: which resources a queue counts, and what becomes of those that pods ask for. */
#pragma once

#include "kueue_plan.h"
#include "resource.h"

/* What shares of GPUs come to, whatever family of names a pod uses: the number, MiB and percent of all
 * its GPUs together. */
#define KUEUE_TOTAL_NUMBER "vgpu.io/total-number"
#define KUEUE_TOTAL_MEMORY "vgpu.io/total-memory"
#define KUEUE_TOTAL_CORES  "vgpu.io/total-cores"

/* One transformation: a unit of `input` counts as `factor` of `output`, times what `times` says. */
struct kueue_transformation {
        const char *input, *output, *times; /* times: NULL: once */
        unsigned factor;
};

enum { KUEUE_COVERED = 16, KUEUE_ROWS = 96 };

struct kueue_rows {
        const char *covered[KUEUE_COVERED]; /* by the ClusterQueue, in its order */
        unsigned covered_count;
        struct kueue_transformation transformations[KUEUE_ROWS];
        unsigned transformation_count;
        const char *excluded[KUEUE_COVERED]; /* prefixes that Kueue leaves out of account */
        unsigned excluded_count;
};

/* Texts are the plan's or constants. */
void kueue_rows_read(const struct kueue_plan *plan, struct kueue_rows *ret_rows);
/* NULL: not known. */
const struct kueue_total *kueue_rows_total(const struct kueue_plan *plan, const char *name);
