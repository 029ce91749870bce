/* SPDX-License-Identifier: Apache-2.0 */
/* usage_rows: whose the devices' time of the last second was, container by container: what regions say, borne
 * out by the driver's figures of processes. */
#pragma once

#include "figure_sheet.h"
#include "gpu.h"
#include "vec.h"

struct usage_rows {
        struct vec rows;             /* of a container on a device */
        const struct vec *processes; /* of struct gpu_process; NULL: nobody tells */
        bool *is_taken;              /* of each: it is some container's */
};

void usage_rows_init(struct usage_rows *usage, const struct vec *processes);
void usage_rows_done(struct usage_rows *usage);

/* A container used so much of the device, by its region; `values` get what is used and lost, as ratios. Its
 * number; −1: out of memory. */
int usage_rows_add(struct usage_rows *usage, const char *uuid, double own_ratio,
                   double *ret_used_ratio, double *ret_lost_ratio);
/* A process of that container. */
void usage_rows_take(struct usage_rows *usage, int row, uint32_t pid);

/* When all are added: sets what each used and lost of the GPU; the ratio of strangers, NaN: nobody tells. */
double usage_rows_split(struct usage_rows *usage, const struct gpu *gpu);
