/* SPDX-License-Identifier: Apache-2.0 */
/* preemption: whom to evict so that a pod fits on one node's GPUs. Pure: no clock, no heap.
 *
 * The order among sets of victims is kube-scheduler's: the lowest highest priority first, then the least
 * sum of priorities (each counted from the lowest that there is, so that few come before many), then those
 * who began later. */
#pragma once

#include "placement.h"

enum {
        PREEMPTION_VICTIMS = 512, /* looked at on one node; the more important ones stay */
        /* How many placements are tried on one node. Where they do not suffice, the answer is a set in
         * which nobody can be spared, if not the least of all. */
        PREEMPTION_STEPS = 5000,
};

struct preemption_hold { /* what a pod has of a GPU */
        unsigned device;
        struct placement_use use;
};

struct preemption_victim { /* one who may be evicted */
        int32_t priority;
        int64_t started_s;
        const struct preemption_hold *holds;
        unsigned hold_count;
};

struct preemption_cost {
        unsigned count;
        int32_t highest; /* priority; INT32_MIN for nobody */
        uint64_t sum;
        int64_t started_s; /* the earliest among those of the highest priority */
};

/* < 0: a is the better, > 0: b is. */
int preemption_cost_compare(const struct preemption_cost *a, const struct preemption_cost *b);

struct preemption {
        struct preemption_cost cost;
        bool is_chosen[PREEMPTION_VICTIMS]; /* by victim */
        struct placement placement;         /* of the pod, when they are gone */
};

/* The GPUs' use includes all victims'. 0, nobody being chosen where the pod fits as it is; -ENOSPC: not
 * even without all of them. `victim_count` is PREEMPTION_VICTIMS at most. */
int preemption_find(const struct placement_node *node, const struct placement_pod *pod,
                    const struct preemption_victim *victims, unsigned victim_count,
                    struct preemption *ret_preemption);
