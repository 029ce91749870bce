/* SPDX-License-Identifier: Apache-2.0 */
/* usage_rows: whose the devices' time of the last second was, container by container: what regions say, borne
 * out by the driver's figures of processes. Pure. */
#pragma once

#include <stdint.h>

#include "gpu_usage.h"
#include "vec.h"

struct usage_rows {
        struct vec rows;             /* of struct usage_row */
        const struct vec *processes; /* of struct gpu_process; NULL: nobody tells */
        bool *is_taken;              /* of each: it is some container's */
};

struct usage_row { /* a container on a device */
        char uuid[96];
        struct gpu_usage_part part;
        bool is_used_known, is_lost_known; /* when it is split */
};

void usage_rows_init(struct usage_rows *usage, const struct vec *processes);
void usage_rows_done(struct usage_rows *usage);

/* A container on a device; `own` is what its region says, is_unlimited and has_ended. Its number; −1: out of memory. */
int usage_rows_add(struct usage_rows *usage, const char *uuid, const struct gpu_usage_part *own);
/* A process of that container. */
void usage_rows_take(struct usage_rows *usage, int row, uint32_t pid);
const struct usage_row *usage_rows_at(const struct usage_rows *usage, int row);

/* When all are added: sets what each used and lost of this device. `gpu` has what the driver tells of the whole; what
 * was outside is added, and whether the driver tells of each process. */
void usage_rows_split(struct usage_rows *usage, const char *uuid, struct gpu_usage *gpu);
