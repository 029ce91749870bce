/* SPDX-License-Identifier: Apache-2.0 */
/* offers: one device plugin for each resource that the node offers, as its GPUs are now. */
#pragma once

#include "err.h"
#include "gpu.h"
#include "loop.h"
#include "node_options.h"
#include "plugin.h"
#include "pod_resources.h"

struct offers;

struct offers_peers {
        struct pre_start *pre_start; /* as plugin_service.h has these two */
        struct mig_starts *starts;
        struct pod_resources
                *pod_resources; /* says which MIG devices are held; NULL: nobody does */
};

/* The options stay the caller's. Nothing is offered before offers_update(). */
int offers_new(struct loop *loop, const struct node_options *options,
               const struct offers_peers *peers, struct offers **ret_offers);
/* Tells kubelet of the GPUs as they are. A resource that is gone is taken back. -ENOMEM: some of it was
 * published; another call may publish the others. */
int offers_update(struct offers *offers, const struct gpu_set *set);
/* Something changed in kubelet's folder, or time has passed. */
void offers_check(struct offers *offers);
/* How each resource stands with kubelet. */
void offers_each(const struct offers *offers,
                 void (*visit)(void *owner, const struct plugin_state *state), void *owner);
void offers_free(struct offers *offers); /* NULL is fine */
