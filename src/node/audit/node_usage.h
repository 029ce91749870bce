/* SPDX-License-Identifier: Apache-2.0 */
/* node_usage: whose the GPUs' time is, sampled once a second, and counted: for metrics and clients.
 *
 * What a share's region says and what the driver says are of the same second here, because both are read when the
 * driver has just been asked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpu_watch.h"
#include "shown_share.h"

struct node_usage;

struct share_usage {                       /* a share on one of its devices */
        double used_percent, lost_percent; /* of the last second */
        bool is_used_known, is_lost_known;
        uint64_t used_ns, lost_ns; /* since it was first seen */
};

struct device_usage { /* a GPU, or a MIG device */
        char uuid[96];
        double busy_percent, used_percent, outside_percent; /* of the last second */
        bool is_busy_told, is_split_told; /* by the driver; split: it tells of each process */
        uint64_t used_ns, outside_ns;     /* since vgpu-node started */
};

/* NULL: out of memory. */
struct node_usage *node_usage_new(void);
void node_usage_free(struct node_usage *usage); /* NULL is fine */

/* The driver was asked just now; book NULL: no shares are kept, those of users remain. */
void node_usage_sample(struct node_usage *usage, struct gpu_watch *gpus, struct share_book *book);

/* NULL: it was not there at the last sample. */
const struct share_usage *node_usage_share(struct node_usage *usage,
                                           const struct shown_share *share, unsigned device);
/* One after another, in the driver's order, MIG devices last; NULL: no more. */
const struct device_usage *node_usage_device(const struct node_usage *usage, size_t index);
