/* SPDX-License-Identifier: Apache-2.0 */
/* Things by name. */
#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 16 };

/* FNV-1a. */
static uint64_t digest_of(const char *key, size_t count)
{
        uint64_t digest = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < count; i++)
                digest = (digest ^ (unsigned char)key[i]) * UINT64_C(0x100000001b3);
        return digest;
}

static struct hash_link **slot_of(const struct hash *hash, uint64_t digest)
{
        return &hash->slots[digest & (hash->slot_count - 1)];
}

struct hash_link *hash_find_bytes(const struct hash *hash, const char *key, size_t count)
{
        const uint64_t digest = digest_of(key, count);

        if (hash->slot_count == 0)
                return NULL;
        for (struct hash_link *link = *slot_of(hash, digest); link; link = link->next)
                if (link->digest == digest && strlen(link->key) == count &&
                    memcmp(link->key, key, count) == 0)
                        return link;
        return NULL;
}

struct hash_link *hash_find(const struct hash *hash, const char *key)
{
        return hash_find_bytes(hash, key, strlen(key));
}

static void link_put(struct hash *hash, struct hash_link *link)
{
        struct hash_link **slot = slot_of(hash, link->digest);

        link->next = *slot;
        *slot = link;
}

static int hash_grow(struct hash *hash)
{
        struct hash bigger = {
                .slot_count = hash->slot_count ? hash->slot_count * 2 : SLOTS_FIRST,
                .count = hash->count,
        };

        bigger.slots = calloc(bigger.slot_count, sizeof *bigger.slots);
        if (!bigger.slots)
                return -ENOMEM;
        for (size_t i = 0; i < hash->slot_count; i++) {
                for (struct hash_link *link = hash->slots[i], *next; link; link = next) {
                        next = link->next;
                        link_put(&bigger, link);
                }
        }
        free(hash->slots);
        *hash = bigger;
        return 0;
}

int hash_add(struct hash *hash, struct hash_link *link, const char *key)
{
        /* Without memory for more slots the chains grow. */
        if (hash->count >= hash->slot_count && hash_grow(hash) < 0 && !hash->slot_count)
                return -ENOMEM;
        link->key = key;
        link->digest = digest_of(key, strlen(key));
        link_put(hash, link);
        hash->count++;
        return 0;
}

void hash_remove(struct hash *hash, struct hash_link *link)
{
        if (!hash->slot_count)
                return;
        for (struct hash_link **at = slot_of(hash, link->digest); *at; at = &(*at)->next) {
                if (*at == link) {
                        *at = link->next;
                        hash->count--;
                        return;
                }
        }
}

struct hash_link *hash_any(const struct hash *hash)
{
        for (size_t i = 0; i < hash->slot_count; i++)
                if (hash->slots[i])
                        return hash->slots[i];
        return NULL;
}

void hash_each(const struct hash *hash, void (*visit)(void *owner, struct hash_link *link),
               void *owner)
{
        for (size_t i = 0; i < hash->slot_count; i++) {
                for (struct hash_link *link = hash->slots[i], *next; link; link = next) {
                        next = link->next;
                        visit(owner, link);
                }
        }
}

void hash_done(struct hash *hash)
{
        free(hash->slots);
        *hash = (struct hash){ 0 };
}
