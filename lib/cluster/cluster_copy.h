/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a node, to try things on. */
#pragma once

#include "cluster.h"

/* The node as it is: what is used or nominated of its GPUs is used in the copy, by nobody in particular. The other
 * cluster does not know the node yet. 0 or -ENOMEM. */
int cluster_node_copy(struct cluster *to, const struct cluster_node *node);
