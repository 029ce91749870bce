/* SPDX-License-Identifier: Apache-2.0 */
/* fleet: the largest GPU of the cluster, from what nodes tell of theirs, so that a pod that asks for more
 * is told so at once. Nodes are looked over every few minutes, some at a time, and nothing of them is kept: a
 * watch would keep all their names. Where they may not be listed, nobody is told anything. */
#pragma once

#include "kube_client.h"

struct fleet;

/* on_change comes with the largest GPU's MiB; 0: none is known. */
int fleet_new(struct kube_client *client, void (*on_change)(void *owner, uint64_t largest_mib),
              void *owner, struct fleet **ret_fleet);
void fleet_free(struct fleet *fleet); /* NULL is fine */
