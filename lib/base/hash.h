/* SPDX-License-Identifier: Apache-2.0 */
/* hash: things by name. A link is embedded in the thing; the table owns only its slots. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_link {
        struct hash_link *next;
        uint64_t digest;
        const char *key; /* the thing's, for as long as it is in the table */
};

struct hash { /* zeroed is empty */
        struct hash_link **slots;
        size_t slot_count; /* a power of two */
        size_t count;
};

struct hash_link *hash_find(const struct hash *hash, const char *key); /* or NULL */
/* The same by a key that ends without NUL. */
struct hash_link *hash_find_bytes(const struct hash *hash, const char *key, size_t count);
/* The key must not be there. 0 or -ENOMEM. */
int hash_add(struct hash *hash, struct hash_link *link, const char *key);
void hash_remove(struct hash *hash, struct hash_link *link);
/* Any one, to empty a table with; NULL: it is empty. */
struct hash_link *hash_any(const struct hash *hash);
/* Calls it for each; it may remove the one it is given. */
void hash_each(const struct hash *hash, void (*visit)(void *owner, struct hash_link *link),
               void *owner);
void hash_done(struct hash *hash); /* the things are not touched */
