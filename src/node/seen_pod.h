/* seen_pod: what is known of the pods of this node beyond their shares: that they are there, and which
 * containers were to have a share and could not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "hash.h"
#include "vec.h"

struct seen_refusal {
        char container[64];
        char why[256];
};

struct seen_pod {
        struct hash_link link;
        struct vec refusals; /* of struct seen_refusal; most pods have none */
        uint64_t heard_ns;   /* when another told of it, and the watch has not yet; 0: it has */
        char uid[64];
};

struct seen_pods { /* zeroed is empty */
        struct hash pods;
};

/* The pod, taken in if it is new. NULL: out of memory, or no UID. */
struct seen_pod *seen_pods_take(struct seen_pods *seen, const char *uid);
const struct seen_pod *seen_pods_find(const struct seen_pods *seen, const char *uid);
void seen_pods_forget(struct seen_pods *seen, const char *uid);
void seen_pods_done(struct seen_pods *seen);

/* NULL: nothing stands in its way. */
const char *seen_pod_refusal(const struct seen_pod *pod, const char *container);
/* true: this is news. */
bool seen_pod_refuse(struct seen_pod *pod, const char *container, const char *why);
void seen_pod_clear(struct seen_pod *pod, const char *container);
