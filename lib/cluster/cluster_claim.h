/* Claims: room on a node that is kept for a pod which waits until others have left. It is not held: those
 * who leave may still be there. Lost with a restart, and made again by the annotation vgpu.io/kept-node. */
#pragma once

#include "cluster.h"
#include "who.h"

struct cluster_claim {
        struct hash_link link;
        struct cluster_claim *next; /* on its node */
        struct cluster_node *node;
        int32_t priority;
        uint64_t offered_ns; /* when kube-scheduler asked about the node for this pod, last */
        char uid[64];
        unsigned charge_count;
        struct cluster_charge charges[];
};

/* Keeps what the placement takes; replaces an earlier claim of the pod. 0 or -ENOMEM. */
int cluster_claim_set(struct cluster *cluster, const struct who *who, const char *node_name,
                      const struct placement *placement, uint64_t now_ns);
struct cluster_claim *cluster_claim_find(const struct cluster *cluster, const char *uid);
void cluster_claim_drop(struct cluster *cluster, const char *uid); /* none: fine */

/* What is kept on the node for pods of this priority and above, `uid` excepted, added to its cards. */
void cluster_claims_add(const struct cluster_node *node, int32_t priority, const char *uid,
                        struct placement_card *cards);

/* What the watch tells of a pod that holds something. */
void cluster_pod_describe(struct cluster *cluster, const struct who *who);
/* It may not be evicted now: nobody tries for a while, for longer each time, so that others come to be
 * asked. Unknown pods are fine. */
void cluster_pod_guard(struct cluster *cluster, const char *uid, uint64_t now_ns);
/* It is on its way out, and the watch will say so. */
void cluster_pod_leave(struct cluster *cluster, const char *uid);
/* A newer entry of the same pod knows what the older one did; the older may be NULL. */
void cluster_pod_inherit(struct cluster_pod *pod, const struct cluster_pod *older);
