/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and versions of nodes, by which answers about them are remembered. */
#pragma once

#include "cluster.h"

/* So that the next one can be numbered. 0 or -ENOMEM. */
int cluster_node_reserve(struct cluster *cluster);
/* When it has been added to the cluster's nodes. */
void cluster_node_number(struct cluster *cluster, struct cluster_node *node);
/* Before it is removed from them. */
void cluster_node_unnumber(struct cluster *cluster, const struct cluster_node *node);
/* It has changed. */
void cluster_node_touch(struct cluster *cluster, struct cluster_node *node);
