/* SPDX-License-Identifier: Apache-2.0 */
/* Placement: which GPUs of one node the containers of a pod get. Pure: no clock, no heap.
 *
 * A need of N GPUs takes N distinct GPUs and the same of each. What a pod takes of a GPU is its peak,
 * see pod_peak.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "pod_peak.h"

enum {
        PLACEMENT_DEVICES = 64,
        PLACEMENT_NEEDS = 32,
        /* How many sets of GPUs are looked at before a node counts as full: bounded work beats the
         * last per cent of a puzzle. */
        PLACEMENT_STEPS = 20000,
        PLACEMENT_FULL = 1000, /* the fullness of a full node */
};

struct placement_use { /* of one GPU */
        uint64_t memory_mib;
        uint32_t cores;
        uint16_t slots;
        uint16_t exclusive; /* how many hold the whole GPU */
};

struct placement_device {
        uint64_t memory_mib;       /* as registered: scaling included */
        uint32_t cores;            /* 100 times the scaling */
        uint16_t slots;            /* how many containers may share it */
        int16_t numa;              /* −1: not known */
        uint32_t memory_factor;    /* MiB of a unit; 0 is 1 */
        struct placement_use used; /* by everybody else */
        bool is_usable;            /* healthy, not cut into instances */
};

struct placement_need {
        enum pod_phase phase;
        unsigned count; /* GPUs */
        uint64_t memory_mib;
        unsigned memory_percent; /* of each GPU's, when memory_mib is 0 */
        unsigned cores;          /* 100: alone on the GPU */
        bool is_in_units;        /* memory_mib is units, each of the GPU's memory factor */
};

/* Which of the nodes, or of the GPUs of a node, come first. Their names are in choice.c. */
enum placement_policy {
        PLACEMENT_UNSET, /* of nodes: the scheduler's own; of GPUs: binpack */
        PLACEMENT_BINPACK,
        PLACEMENT_SPREAD,
        PLACEMENT_ANY, /* "none": no matter which */
};
enum placement_topology {
        PLACEMENT_NO_TOPOLOGY,
        PLACEMENT_NUMA,
        PLACEMENT_NUMA_STRICT, /* or not at all */
        PLACEMENT_LINK,
        PLACEMENT_LINK_STRICT,
};

struct placement_pod {
        struct placement_need needs[PLACEMENT_NEEDS]; /* in the order of the pod's containers */
        unsigned need_count;
        enum placement_policy policy;
        enum placement_topology topology;
};

struct placement_node {
        const struct placement_device *devices;
        unsigned device_count;
        uint64_t allowed;     /* bit per GPU: those the pod's selectors let it have */
        const uint8_t *links; /* gpu_count × gpu_count: 0 none, more is faster; NULL: not known */
};

struct placement {
        uint64_t chosen[PLACEMENT_NEEDS]; /* bit per GPU, by need */
        struct placement_use peak[PLACEMENT_DEVICES];
        unsigned steps; /* what it took to find out, also that there is none */
};

/* -ENOSPC: the pod does not fit; the sentence says what is short. */
int placement_find(const struct placement_node *node, const struct placement_pod *pod,
                   struct placement *ret_placement, struct err *e);

/* What a need takes of a GPU. */
struct placement_use placement_use_of(const struct placement_need *need,
                                      const struct placement_device *device);
void placement_use_add(struct placement_use *to, const struct placement_use *more);
void placement_use_take(struct placement_use *from, const struct placement_use *less);

/* What the containers of a pod take of one GPU, each figure by the rule of pod_peak.h. */
struct placement_sum {
        struct pod_peak memory_mib, cores, slots, exclusive;
};

/* Counts a container. They come in the order of the pod. */
void placement_sum_add(struct placement_sum *sum, enum pod_phase phase,
                       const struct placement_use *use);
struct placement_use placement_sum_peak(const struct placement_sum *sum);

/* How full the node is with the placement, 0…1000: memory and cores, whichever is more. */
unsigned placement_fullness(const struct placement_node *node, const struct placement *placement);

/* How much the policy prefers a node of this fullness, 0…most. */
unsigned placement_score(enum placement_policy policy, unsigned fullness, unsigned most);
