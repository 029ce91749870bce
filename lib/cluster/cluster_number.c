/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and versions of nodes. */
#include "cluster_number.h"

#include <errno.h>
#include <stdlib.h>

/* What was answered about the node before holds no longer. */
void cluster_node_touch(struct cluster *cluster, struct cluster_node *node)
{
        node->version = ++cluster->changes;
}

int cluster_node_reserve(struct cluster *cluster)
{
        if (cluster->nodes.count == cluster->numbered_capacity) {
                const size_t capacity =
                        cluster->numbered_capacity ? 2 * cluster->numbered_capacity : 64;
                struct cluster_node **bigger =
                        reallocarray(cluster->numbered, capacity, sizeof cluster->numbered[0]);

                if (!bigger)
                        return -ENOMEM;
                cluster->numbered = bigger;
                cluster->numbered_capacity = capacity;
        }
        return 0;
}

/* Numbers are dense, so that answers about nodes are arrays. */
void cluster_node_number(struct cluster *cluster, struct cluster_node *node)
{
        node->number = (unsigned)cluster->nodes.count - 1;
        cluster->numbered[node->number] = node;
        cluster_node_touch(cluster, node);
}

/* The last one takes the number that is free. */
void cluster_node_unnumber(struct cluster *cluster, const struct cluster_node *node)
{
        struct cluster_node *last = cluster->numbered[cluster->nodes.count - 1];

        last->number = node->number;
        cluster->numbered[last->number] = last;
        cluster_node_touch(cluster, last);
}
