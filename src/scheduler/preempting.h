/* SPDX-License-Identifier: Apache-2.0 */
/* preempting: evicts pods of lower priority for one that fits on no GPU. kube-scheduler
 * does that only where its own resources are short: memory and cores of a GPU it does not know. */
#pragma once

#include "args.h"
#include "state.h"
#include "str.h"

struct preempting;

/* State and client live longer. */
int preempting_new(struct state *state, struct kube_client *client,
                   struct preempting **ret_preempting);
void preempting_free(struct preempting *preempting); /* NULL is fine */

/* Nobody is evicted, and nothing is written, while it is false (at first it is true). */
void preempting_set_active(struct preempting *preempting, bool is_active);

/* Filter found no node for the pod; args are its. What is to be done is begun; kube-scheduler asks again
 * when the victims have gone. */
void preempting_consider(struct preempting *preempting, const struct args *args,
                         const struct gpu_request *gpu_request);

/* What it has done, for Prometheus. 0 or -ENOMEM. */
int preempting_print(const struct preempting *preempting, struct str *to);
