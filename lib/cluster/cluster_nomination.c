/* SPDX-License-Identifier: Apache-2.0 */
/* Nominations, and against which pods they hold. */
#include "cluster_nomination.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cluster_internal.h"
#include "cluster_number.h"
#include "list.h"
#include "str.h"

enum { GUARDED_S = 10, DOUBLINGS_MOST = 2 };

struct cluster_nomination *cluster_nomination_find(const struct cluster *cluster, const char *uid)
{
        struct hash_link *link = hash_find(&cluster->nominations, uid);

        return link ? container_of(link, struct cluster_nomination, link) : NULL;
}

static void charges_fill(struct cluster_nomination *nomination, const struct placement *placement)
{
        for (size_t i = 0; i < nomination->node->devices.count; i++) {
                const struct node_device *device = vec_at(&nomination->node->devices, i);
                struct cluster_charge *charge = &nomination->charges[nomination->charge_count];

                if (placement->peak[i].slots == 0)
                        continue;
                str_copy(charge->uuid, sizeof charge->uuid, device->uuid);
                charge->use = placement->peak[i];
                nomination->charge_count++;
        }
}

int cluster_nomination_set(struct cluster *cluster, const struct pod_ref *pod_ref,
                           const char *node_name, const struct placement *placement,
                           uint64_t now_ns)
{
        struct cluster_node *node = cluster_node_take(cluster, node_name);
        struct cluster_nomination *nomination =
                node ? calloc(1, sizeof *nomination +
                                         node->devices.count * sizeof nomination->charges[0])
                     : NULL;

        if (!nomination) {
                if (node)
                        cluster_node_free_if_unused(cluster, node);
                return -ENOMEM;
        }
        /* The new one is on the node before the old one goes, so that the node stays. */
        nomination->next = node->nominations;
        node->nominations = nomination;
        cluster_nomination_drop(cluster, pod_ref->uid);
        nomination->node = node;
        nomination->priority = pod_ref->priority;
        nomination->offered_ns = now_ns;
        str_copy(nomination->uid, sizeof nomination->uid, pod_ref->uid);
        charges_fill(nomination, placement);
        if (hash_add(&cluster->nominations, &nomination->link, nomination->uid) < 0) {
                node->nominations = nomination->next;
                cluster_node_free_if_unused(cluster, node);
                free(nomination);
                return -ENOMEM;
        }
        cluster_node_touch(cluster, node);
        return 0;
}

void cluster_nomination_drop(struct cluster *cluster, const char *uid)
{
        struct cluster_nomination *nomination = cluster_nomination_find(cluster, uid), **at;

        if (!nomination)
                return;
        hash_remove(&cluster->nominations, &nomination->link);
        for (at = &nomination->node->nominations; *at != nomination; at = &(*at)->next)
                ;
        *at = nomination->next;
        cluster_node_touch(cluster, nomination->node);
        cluster_node_free_if_unused(cluster, nomination->node);
        free(nomination);
}

void cluster_nominations_add(const struct cluster_node *node, int32_t priority, const char *uid,
                             struct placement_device *devices)
{
        for (const struct cluster_nomination *nomination = node->nominations; nomination;
             nomination = nomination->next) {
                if (nomination->priority < priority || (uid && strcmp(nomination->uid, uid) == 0))
                        continue;
                for (unsigned i = 0; i < nomination->charge_count; i++) {
                        const int device = cluster_device_find(node, nomination->charges[i].uuid);

                        if (device >= 0)
                                placement_use_add(&devices[device].used,
                                                  &nomination->charges[i].use);
                }
        }
}

void cluster_pod_inherit(struct cluster_pod *pod, const struct cluster_pod *older)
{
        if (!older)
                return;
        pod->is_leaving = older->is_leaving;
        pod->priority = older->priority;
        pod->started_s = older->started_s;
        pod->guarded_ns = older->guarded_ns;
        pod->refusals = older->refusals;
}

void cluster_pod_describe(struct cluster *cluster, const struct pod_ref *pod_ref)
{
        struct cluster_pod *pod = cluster_pod_change(cluster, pod_ref->uid);
        const size_t first = strlen(pod_ref->namespace_name) + 1,
                     second = strlen(pod_ref->name) + 1;
        char *names = pod ? malloc(first + second) : NULL;

        if (!names)
                return;
        memcpy(names, pod_ref->namespace_name, first);
        memcpy(names + first, pod_ref->name, second);
        free(pod->names);
        pod->names = names;
        pod->priority = pod_ref->priority;
        if (!cluster->has_priority || pod_ref->priority < cluster->lowest_priority)
                cluster->lowest_priority = pod_ref->priority;
        cluster->has_priority = true;
        pod->started_s = pod_ref->started_s;
        pod->is_leaving = pod->is_leaving || pod_ref->is_leaving; /* there is no way back */
}

void cluster_pod_guard(struct cluster *cluster, const char *uid, uint64_t now_ns)
{
        struct cluster_pod *pod = cluster_pod_change(cluster, uid);

        if (!pod)
                return;
        pod->guarded_ns = now_ns + (GUARDED_S * NS_PER_S << pod->refusals);
        if (pod->refusals < DOUBLINGS_MOST)
                pod->refusals++;
}

void cluster_pod_leave(struct cluster *cluster, const char *uid)
{
        struct cluster_pod *pod = cluster_pod_change(cluster, uid);

        if (pod)
                pod->is_leaving = true;
}
