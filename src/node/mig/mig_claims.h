/* SPDX-License-Identifier: Apache-2.0 */
/* mig_claims: which MIG device is held, and under which name. A device is offered under several names
 * (nvidia.com/mig-1g.5gb, mig.das.com/1g.5gb), which kubelet takes for several devices: one that is held
 * under a name must not be handed out under another. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "podresources.pb-c.h"
#include "vec.h"

/* kubelet lists a pod only when it has taken it: so long a device counts as held without that. */
#define MIG_CLAIM_GRACE_NS UINT64_C(60000000000)

struct mig_claims {
        struct vec items; /* of struct mig_claim */
};

void mig_claims_init(struct mig_claims *claims);
void mig_claims_done(struct mig_claims *claims);

/* The resource under which it is held; NULL: it is free. */
const char *mig_claims_holder(const struct mig_claims *claims, const char *id);
/* It was handed out. 0 or -ENOMEM. */
int mig_claims_take(struct mig_claims *claims, const char *id, const char *resource,
                    uint64_t now_ns);
/* As kubelet's list has it: devices that it names are held, others are free again. 1: something changed;
 * 0; -ENOMEM. */
int mig_claims_refresh(struct mig_claims *claims, const V1__ListPodResourcesResponse *list,
                       uint64_t now_ns);
