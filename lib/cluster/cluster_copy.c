/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes to try things on. */
#include "cluster_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_internal.h"
#include "cluster_nomination.h"

int cluster_node_copy(struct cluster *to, const struct cluster_node *node)
{
        const size_t count = node->devices.count;
        struct vec devices = VEC_OF(struct node_device);
        uint8_t *links = node->links ? malloc(count * count) : NULL;
        struct cluster_node *copy;
        int r = node->links && !links ? -ENOMEM : 0;

        for (size_t i = 0; r == 0 && i < count; i++)
                r = vec_push(&devices, vec_at(&node->devices, i));
        if (r == 0)
                r = cluster_node_set(to, node->name, &devices);
        copy = r == 0 ? cluster_node_take(to, node->name) : NULL;
        if (!copy) {
                vec_done(&devices);
                free(links);
                return -ENOMEM;
        }
        copy->is_away = node->is_away;
        memcpy(copy->placement_devices, node->placement_devices,
               count * sizeof copy->placement_devices[0]);
        cluster_nominations_add(node, INT32_MIN, NULL, copy->placement_devices);
        if (links) {
                memcpy(links, node->links, count * count);
                cluster_node_set_links(to, node->name, links);
        }
        return 0;
}
