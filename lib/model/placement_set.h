/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of GPUs, the better ones first. */
#pragma once

#include "placement.h"

struct placement_set_order {
        const struct placement_node *node;
        enum placement_policy policy;
        enum placement_topology topology;
        unsigned fullness[PLACEMENT_DEVICES]; /* 0…1000 */
};

/* Calls `take` with sets of `count` among the GPUs until it says true; then the answer is true too.
 * Without a topology every set comes; with one, the best few of those looked at. */
bool placement_set_each(const struct placement_set_order *order, uint64_t devices, unsigned count,
                        bool (*take)(void *context, uint64_t chosen), void *context);
