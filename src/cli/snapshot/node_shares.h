/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of this node's containers, which vgpu-node keeps: for root, beside the user's own. Where no
 * agent is, or it is not for this user to ask, there are none. */
#pragma once

#include "share_compute.h"
#include "share_memory.h"
#include "snapshot.h"

/* Adds them; a sentence among the troubles where the agent is there and does not answer. */
void node_shares_add(struct snapshot *snapshot);

/* Changes one, and reads its name and GPUs then into an empty share. EXIT_OK: it is changed; -1: the node has no
 * such share. */
int node_shares_set(const char *name, const struct share_memory *memory,
                    const struct share_compute *compute, struct share_view *ret_share);
