/* SPDX-License-Identifier: Apache-2.0 */
/* Cluster: every node's GPUs and what pods hold of them. Made of what the API server tells, and of
 * decisions that are on their way to it; nothing else, so that a restart makes it again. */
#pragma once

#include "allocation.h"
#include "gpu_request.h"
#include "hash.h"
#include "node_devices.h"
#include "vec.h"

struct cluster_node {
        struct hash_link link;
        struct vec devices;                         /* of struct node_gpu */
        struct placement_device *placement_devices; /* the same, for placement; with what is used */
        uint8_t *links;                             /* between them, a square; NULL: not known */
        uint64_t said;            /* a digest of the texts that tell this; 0: not noted */
        struct cluster_pod *pods; /* that hold something here */
        struct cluster_nomination *nominations; /* of pods that wait for evictions here */
        bool is_known;                          /* its object was seen, with a registration */
        bool uses_volcano;                      /* Volcano's scheduler places pods here too */
        bool is_away;     /* its kubelet hears nothing of vgpu-node: pods would be turned away */
        unsigned number;  /* below the cluster's node count; may be given to another */
        uint64_t version; /* another after each change; no two nodes have the same */
        char name[];
};

struct cluster_charge {
        char uuid[ALLOCATION_UUID];
        struct placement_use use;
};

struct cluster_pod {
        struct hash_link link;
        struct cluster_pod *next, **before; /* on its node */
        struct cluster_node *node;
        bool is_assumed; /* decided, and not yet seen so */
        bool is_leaving; /* it is being deleted: what it holds comes free by itself */
        int32_t priority;
        int64_t started_s;
        uint64_t guarded_ns; /* until then nobody tries to evict it, since it was refused … */
        unsigned refusals;   /* … so many times */
        char *names;         /* its namespace, NUL, its name; NULL: the watch has not told */
        char uid[64];
        unsigned charge_count;
        struct cluster_charge charges[];
};

struct cluster { /* zeroed is empty */
        struct hash nodes, pods, nominations;
        struct cluster_node **numbered; /* nodes by number */
        size_t numbered_capacity;
        uint64_t changes; /* counts */
        /* The lowest priority that any pod has had here: nobody below it preempts anybody. */
        int32_t lowest_priority;
        bool has_priority;
};

/* A node as it says it is; GPUs is a vec of struct node_gpu and is taken over. 0 or -ENOMEM. */
int cluster_node_set(struct cluster *cluster, const char *name, struct vec *devices);
/* How its GPUs reach each other, a square of their count; taken over. NULL: not known. */
void cluster_node_set_links(struct cluster *cluster, const char *name, uint8_t *links);
/* A node's object changes with every sign of life of its kubelet: who tells notes what it was told by. */
void cluster_node_note(struct cluster *cluster, const char *name, uint64_t said);
/* Whether decisions for that node are told to Volcano too; a node that is not known stays so. */
void cluster_node_set_volcano(struct cluster *cluster, const char *name, bool uses_volcano);
/* Whether its kubelet has lost vgpu-node; nothing is placed there meanwhile. */
void cluster_node_set_away(struct cluster *cluster, const char *name, bool is_away);
void cluster_node_remove(struct cluster *cluster, const char *name);
const struct cluster_node *cluster_node_find(const struct cluster *cluster, const char *name);
/* The same by a name that ends without NUL. */
const struct cluster_node *cluster_node_find_bytes(const struct cluster *cluster, const char *name,
                                                   size_t count);

/* A pod holds what its allocation says; replaces what was known of the pod. The request tells which
 * containers run at the same time. */
int cluster_pod_hold(struct cluster *cluster, const char *uid, const struct allocation *allocation,
                     const struct gpu_request *gpu_request, bool is_assumed);
void cluster_pod_release(struct cluster *cluster, const char *uid);
const struct cluster_pod *cluster_pod_find(const struct cluster *cluster, const char *uid);

/* Where the pod would go on the node. -ENOENT: the node has no GPUs that we know of; -ENOSPC. What
 * is nominated for pods of the same or a higher priority is not free; `uid` is whose own nomination does not count
 * (NULL: nobody's). */
int cluster_place(const struct cluster_node *node, const struct gpu_request *gpu_request,
                  const char *uid, struct placement *ret_placement, struct err *e);
/* The node's GPUs that the pod may have, bit per GPU. */
uint64_t cluster_allowed(const struct cluster_node *node, const struct gpu_request *gpu_request);
/* The placement as an allocation, to be done by allocation_done(). 0 or -ENOMEM. */
int cluster_allocation(const struct cluster_node *node, const struct gpu_request *gpu_request,
                       const struct placement *placement, const char *pod_uid,
                       struct allocation *ret_allocation);

void cluster_done(struct cluster *cluster);
