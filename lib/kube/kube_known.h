/* SPDX-License-Identifier: Apache-2.0 */
/* kube_known: which objects a watch has told of, and in which state, so that a new list can tell what
 * changed and what is gone. Holds names, not objects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_name {
        const char *namespace_name; /* "" for what has none */
        const char *name;
        const char *uid;
};

struct kube_entry {
        struct kube_entry *next;
        uint64_t hash;
        uint64_t version;      /* a digest of resourceVersion, compared and nothing else */
        unsigned round;        /* of the list in which it was seen last */
        struct kube_name name; /* points into text */
        char text[];
};

struct kube_known {
        struct kube_entry **slots;
        size_t slot_count; /* a power of two */
        size_t count;
};

struct kube_entry *kube_known_find(const struct kube_known *known, const char *namespace_name,
                                   const char *name); /* or NULL */
struct kube_entry *kube_known_add(struct kube_known *known,
                                  const struct kube_name *name); /* or NULL: out of memory */
void kube_known_remove(struct kube_known *known, struct kube_entry *entry);

/* Any one that was not seen in this round; NULL: there is none. *at begins with 0 and remembers where
 * the search is; it stays right while found entries are removed. */
struct kube_entry *kube_known_stale(const struct kube_known *known, unsigned round, size_t *at);

/* No state of any object is known any more, only which ones there are. */
void kube_known_doubt(struct kube_known *known);

uint64_t kube_digest(const char *text);
void kube_known_done(struct kube_known *known);
