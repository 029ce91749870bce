/* SPDX-License-Identifier: Apache-2.0 */
/* offer_list: which resources a node offers to kubelet, and what there is of each. Pure.
 *
 *   vGPUs          every name that counts them: whole GPUs times the split count
 *   MIG devices    by --mig-strategy: under their profiles' names (mixed), instead of vGPUs (single),
 *                  or not at all (none)
 *   GB of memory   gpu.das.com/mem: every GPU's, rounded as the names of profiles round it */
#pragma once

#include "gpu.h"
#include "mig_claims.h"
#include "node_options.h"
#include "slots.h"
#include "vec.h"

enum { OFFER_NAME = 128 };

/* What a container gets with it. */
enum offer_kind {
        OFFER_VGPU,   /* its share, by its identity */
        OFFER_MIG,    /* the devices that kubelet chose */
        OFFER_MEMORY, /* nothing: it is counted for queues */
};

struct offer {
        char resource[OFFER_NAME];
        enum offer_kind kind;
        struct slots slots;
};

/* A vec of struct offer, for offer_list_done(); 0 or -ENOMEM. Resources of which there is nothing are in
 * it if they are always offered (vGPUs, memory). */
int offer_list_make(const struct gpu_set *set, const struct node_options *options,
                    struct vec *ret_offers);
void offer_list_done(struct vec *offers);

/* A MIG device that is held under another name is unhealthy under this one. */
void offer_list_withhold(struct vec *offers, const struct mig_claims *claims);

/* GB as the names of profiles count them: what is begun counts whole. */
unsigned offer_memory_gb(uint64_t bytes);
