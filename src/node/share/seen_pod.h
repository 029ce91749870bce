/* SPDX-License-Identifier: Apache-2.0 */
/* seen_pod: what is known of the pods of this node beyond their shares: that they are there, which
 * containers were to have a share and could not, and what of. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "hash.h"
#include "share_layout.h"
#include "vec.h"

struct seen_refusal {
        char container[64];
        char why[256];
};

/* What was decided for a container that has no share: nobody else grows into it. */
struct seen_claim {
        char container[64];
        char uuid[SHARE_UUID];
        uint64_t limit_bytes;
        uint32_t cores_percent;
        uint32_t phase, container_index; /* as in struct share_copy */
};

struct seen_pod {
        struct hash_link link;
        struct vec refusals; /* of struct seen_refusal; most pods have none */
        struct vec claims;   /* of struct seen_claim; likewise */
        bool is_partial;     /* there was no memory to note all of that */
        uint64_t learned_ns; /* when vgpu-scheduler told of it; 0: the watch has */
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
/* What was decided for a container that is refused. */
void seen_pod_claim(struct seen_pod *pod, const struct seen_claim *claim);
/* Neither refused nor waiting any more. */
void seen_pod_clear(struct seen_pod *pod, const char *container);
/* Its claims alone. */
void seen_pod_unclaim(struct seen_pod *pod, const char *container);
