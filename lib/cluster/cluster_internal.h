/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_internal: what the parts of the cluster share. */
#pragma once

#include "cluster.h"

/* The node of that name, known or not; NULL: out of memory. */
struct cluster_node *cluster_node_take(struct cluster *cluster, const char *name);
/* One of which nothing is known and that nobody needs goes. */
void cluster_node_free_if_unused(struct cluster *cluster, struct cluster_node *node);
int cluster_device_find(const struct cluster_node *node, const char *uuid);       /* −1: none */
struct cluster_pod *cluster_pod_change(struct cluster *cluster, const char *uid); /* or NULL */
