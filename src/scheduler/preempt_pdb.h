/* SPDX-License-Identifier: Apache-2.0 */
/* preempt_pdb: kube-scheduler prefers nodes on which fewer PodDisruptionBudgets are violated, and counts
 * them for the victims that it chose; here they are counted for those that the GPUs need besides. */
#pragma once

#include "cluster.h"
#include "kube_client.h"

/* Completes an answer of verb_preempt() to these args and tells it once, now or later; it is taken over, and is
 * on_done's then. Where PDBs cannot be asked for, it stays as it is. */
void preempt_pdb_add(struct kube_client *client, const struct cluster *cluster, const json_t *args,
                     json_t *answer, void (*on_done)(void *owner, json_t *answer), void *owner);
