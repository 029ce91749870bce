/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_nomination: what is set aside on a node for a pod that waits until its victims are evicted. The pod does
 * not hold it: the victims may still be there. The annotation vgpu.io/nominated-node restores it after a restart. */
#pragma once

#include "cluster.h"
#include "pod_ref.h"

struct cluster_nomination {
        struct hash_link link;
        struct cluster_nomination *next; /* on its node */
        struct cluster_node *node;
        int32_t priority;
        uint64_t offered_ns; /* when kube-scheduler asked about the node for this pod, last */
        char uid[64];
        unsigned charge_count;
        struct cluster_charge charges[];
};

/* Sets aside what the placement takes; replaces an earlier nomination of the pod. 0 or -ENOMEM. */
int cluster_nomination_set(struct cluster *cluster, const struct pod_ref *pod_ref,
                           const char *node_name, const struct placement *placement,
                           uint64_t now_ns);
struct cluster_nomination *cluster_nomination_find(const struct cluster *cluster, const char *uid);
void cluster_nomination_drop(struct cluster *cluster, const char *uid); /* none: fine */

/* Adds the nominations of pods of this priority and above, `uid` excepted, to the GPUs' use. */
void cluster_nominations_add(const struct cluster_node *node, int32_t priority, const char *uid,
                             struct placement_device *devices);

/* What the watch tells of a pod that holds something. */
void cluster_pod_describe(struct cluster *cluster, const struct pod_ref *pod_ref);
/* It may not be evicted now: nobody tries for a while, for longer each time, so that others come to be
 * asked. Unknown pods are fine. */
void cluster_pod_guard(struct cluster *cluster, const char *uid, uint64_t now_ns);
/* It is on its way out, and the watch will say so. */
void cluster_pod_leave(struct cluster *cluster, const char *uid);
/* A newer entry of the same pod knows what the older one did; the older may be NULL. */
void cluster_pod_inherit(struct cluster_pod *pod, const struct cluster_pod *older);
