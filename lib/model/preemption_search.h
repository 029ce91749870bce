/* SPDX-License-Identifier: Apache-2.0 */
/* preemption_search: what the two searches for victims share. */
#pragma once

#include "preemption.h"

struct preemption_search {
        const struct placement_pod *pod;
        const struct preemption_victim *victims;
        struct placement_node node;                       /* its GPUs are set for each question */
        unsigned order[PREEMPTION_VICTIMS];               /* the most important first */
        unsigned count;                                   /* of the order */
        struct placement_device now[PLACEMENT_DEVICES];   /* without those who go */
        struct placement_device least[PLACEMENT_DEVICES]; /* and without those not decided on */
        bool is_going[PREEMPTION_VICTIMS];
        struct preemption_cost cost; /* of those who go */
        unsigned steps;
        struct preemption *best;
        bool has_best;
};

extern const struct preemption_cost preemption_search_nobody; /* what it costs if nobody goes */

struct preemption_cost preemption_search_cost_with(struct preemption_cost cost,
                                                   const struct preemption_victim *victim);
void preemption_search_change(struct placement_device *devices,
                              const struct preemption_victim *victim,
                              void (*change)(struct placement_use *, const struct placement_use *));
bool preemption_search_fits(struct preemption_search *search,
                            const struct placement_device *devices,
                            struct placement *ret_placement);

/* Those who hold something of the allowed GPUs, ordered; nobody has gone. */
void preemption_search_begin(struct preemption_search *search, const struct placement_node *node,
                             uint64_t allowed, unsigned victim_count);
/* Notes those who go, if they are the best so far. */
void preemption_search_note(struct preemption_search *search, const struct placement *placement);
/* Those before `index` are decided on; the pod does not fit yet, and does when all others go. */
void preemption_search_decide(struct preemption_search *search, unsigned index);

/* For a pod of one need: GPU by GPU, which is exact where preemption_search_is_exact_per_device(), and a bound where it is not. */
void preemption_search_per_device(struct preemption_search *search,
                                  const struct placement_node *node, unsigned victim_count);
bool preemption_search_is_exact_per_device(const struct placement_node *node,
                                           const struct placement_pod *pod,
                                           const struct preemption_victim *victims,
                                           unsigned victim_count);
