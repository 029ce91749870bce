/* Cluster: every node's cards and what pods hold of them. Made of what the API server tells, and of
 * decisions that are on their way to it; nothing else, so that a restart makes it again. */
#pragma once

#include "allocation.h"
#include "asking.h"
#include "hash.h"
#include "node_cards.h"
#include "vec.h"

struct cluster_node {
        struct hash_link link;
        struct vec cards;              /* of struct node_card */
        struct placement_card *places; /* the same, for placement; with what is used */
        struct cluster_pod *pods;      /* that hold something here */
        bool is_known;                 /* its object was seen, with a registration */
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
        char uid[64];
        unsigned charge_count;
        struct cluster_charge charges[];
};

struct cluster { /* zeroed is empty */
        struct hash nodes, pods;
        uint64_t changes; /* counts; whoever waits for room looks at it */
};

/* A node as it says it is; cards is a vec of struct node_card and is taken over. 0 or -ENOMEM. */
int cluster_node_set(struct cluster *cluster, const char *name, struct vec *cards);
void cluster_node_remove(struct cluster *cluster, const char *name);
const struct cluster_node *cluster_node_find(const struct cluster *cluster, const char *name);

/* A pod holds what its allocation says; replaces what was known of the pod. The asking tells which
 * containers run at the same time. */
int cluster_pod_hold(struct cluster *cluster, const char *uid, const struct allocation *allocation,
                     const struct asking *asking, bool is_assumed);
void cluster_pod_release(struct cluster *cluster, const char *uid);
const struct cluster_pod *cluster_pod_find(const struct cluster *cluster, const char *uid);

/* Where the pod would go on the node. -ENOENT: the node has no GPUs that we know of; -ENOSPC. */
int cluster_place(const struct cluster_node *node, const struct asking *asking,
                  struct placement *ret_placement, struct err *e);
/* The placement as an allocation, to be done by allocation_done(). 0 or -ENOMEM. */
int cluster_allocation(const struct cluster_node *node, const struct asking *asking,
                       const struct placement *placement, const char *pod_uid,
                       struct allocation *ret_allocation);

void cluster_done(struct cluster *cluster);
