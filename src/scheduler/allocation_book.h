/* SPDX-License-Identifier: Apache-2.0 */
/* The book of allocations: which container has what, by pod and by the UUIDs that the webhook gave. It is kept
 * only where it is asked for. */
#pragma once

#include "allocation.h"
#include "hash.h"
#include "pod_ref.h"

struct allocation_book {        /* zeroed is empty */
        struct hash pods;       /* by UID */
        struct hash names;      /* the same by NAMESPACE/NAME */
        struct hash containers; /* by the webhook's UUIDs */
};

/* A pod on its node, as the watch tells; replaces what was known of it. What cannot be read is as if it were
 * not there: 0 or -ENOMEM. */
int allocation_book_note(struct allocation_book *book, const json_t *pod);
void allocation_book_forget(struct allocation_book *book, const char *pod_uid);
void allocation_book_done(struct allocation_book *book);

struct allocation_entry { /* texts live until the book changes */
        const char *pod_uid, *namespace_name, *pod, *container;
        struct allocation allocation; /* of the whole pod; allocation_done() */
};

/* Which container: the first that is not "" counts. */
struct allocation_which {
        const char *container_uuid;
        const char *pod_uid;
        const char *namespace_name, *pod;
        const char *container; /* of the pod */
};

/* -ENOENT: the pod is not known; -ENODATA: it is, and the container has no share. */
int allocation_book_find(const struct allocation_book *book, const struct allocation_which *which,
                         struct allocation_entry *ret_entry);
