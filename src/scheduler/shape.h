/* Shape: what some pods ask for in the same words, and what each node was found to say to it. Pods of
 * one Deployment ask alike: a node is looked at again only when something on it has changed. */
#pragma once

#include "cluster.h"
#include "list.h"

enum {
        SHAPE_REASONS = 64, /* different ones that are remembered */
        SHAPES_KEPT = 32,   /* of which answers are remembered */
};

struct shape_answer {
        uint64_t version;  /* the node's when it was asked; 0: never */
        uint16_t fullness; /* of the node with the pod, 0…1000 */
        uint16_t reason;   /* 0: there is room */
};

struct shape {
        struct hash_link link;
        struct list by_use;
        char key[17];
        unsigned holders;
        struct asking asking;
        struct shape_answer *answers; /* by the node's number */
        size_t answer_count;
        char *reasons[SHAPE_REASONS]; /* as JSON; the first is that of number 1 */
        unsigned reason_count;
};

struct shapes {
        struct hash all;
        struct list by_use; /* the one asked last is last */
};

void shapes_init(struct shapes *shapes);
void shapes_done(struct shapes *shapes);

/* The shape of this asking. It lives until others are asked for, or as long as it is held; NULL: out
 * of memory. */
struct shape *shapes_find(struct shapes *shapes, const struct asking *asking);
void shape_hold(struct shape *shape);
void shape_release(struct shapes *shapes, struct shape *shape);

/* NULL: out of memory. Good until the next question. */
const struct shape_answer *shape_ask(struct shape *shape, const struct cluster_node *node);
/* Why there is no room, a string of JSON with its quotes. */
const char *shape_reason(const struct shape *shape, const struct shape_answer *answer);
