/* SPDX-License-Identifier: Apache-2.0 */
/* request_cache: equal requests form a class, which remembers each node's answer. Pods of one Deployment
 * request alike: a node is judged again only when something on it has changed. */
#pragma once

#include "cluster.h"
#include "list.h"

enum {
        REQUEST_CLASS_REASONS = 64, /* different ones that are remembered */
        REQUEST_CACHE_CLASSES = 32, /* of which answers are remembered */
};

struct request_answer {
        uint64_t version;  /* the node's when it was asked; 0: never */
        uint16_t fullness; /* of the node with the pod, 0…1000 */
        uint16_t reason;   /* 0: the pod fits */
};

struct request_class {
        struct hash_link link;
        struct list by_use;
        char key[17];
        unsigned holders;
        struct gpu_request gpu_request;
        struct request_answer *answers; /* by the node's number */
        size_t answer_count;
        char *reasons[REQUEST_CLASS_REASONS]; /* as JSON; the first is that of number 1 */
        unsigned reason_count;
};

struct request_cache {
        struct hash all;
        struct list by_use; /* the one asked last is last */
};

void request_cache_init(struct request_cache *cache);
void request_cache_done(struct request_cache *cache);

/* The class of this request. It lives until others are asked for, or as long as it is held; NULL: out
 * of memory. */
struct request_class *request_cache_find(struct request_cache *cache,
                                         const struct gpu_request *gpu_request);
void request_class_hold(struct request_class *class);
void request_class_release(struct request_cache *cache, struct request_class *class);

/* NULL: out of memory. Good until the next question. */
const struct request_answer *request_class_query(struct request_class *class,
                                                 const struct cluster_node *node);
/* Why the pod does not fit, a string of JSON with its quotes. */
const char *request_class_reason(const struct request_class *class,
                                 const struct request_answer *answer);
