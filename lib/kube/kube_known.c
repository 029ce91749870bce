/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of names. */
#include "kube_known.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 64 };

static uint64_t digest_on(uint64_t digest, const char *text)
{
        for (; *text; text++)
                digest = (digest ^ (uint8_t)*text) * 0x100000001b3u;
        return (digest ^ 0xff) * 0x100000001b3u; /* "a","bc" is not "ab","c" */
}

uint64_t kube_digest(const char *text)
{
        return digest_on(0xcbf29ce484222325u, text);
}

static uint64_t name_hash(const char *namespace_name, const char *name)
{
        return digest_on(kube_digest(namespace_name), name);
}

static struct kube_entry **slot_of(const struct kube_known *known, uint64_t hash)
{
        return &known->slots[(hash ^ hash >> 32) & (known->slot_count - 1)];
}

struct kube_entry *kube_known_find(const struct kube_known *known, const char *namespace_name,
                                   const char *name)
{
        const uint64_t hash = name_hash(namespace_name, name);

        if (!known->slot_count)
                return NULL;
        for (struct kube_entry *entry = *slot_of(known, hash); entry; entry = entry->next)
                if (entry->hash == hash && strcmp(entry->name.name, name) == 0 &&
                    strcmp(entry->name.namespace_name, namespace_name) == 0)
                        return entry;
        return NULL;
}

static void link_entry(struct kube_known *known, struct kube_entry *entry)
{
        struct kube_entry **slot = slot_of(known, entry->hash);

        entry->next = *slot;
        *slot = entry;
}

/* With twice the slots. Without memory for them the chains grow instead. */
static void grow(struct kube_known *known)
{
        const size_t count = known->slot_count ? known->slot_count * 2 : SLOTS_FIRST;
        struct kube_known wider = { .slots = calloc(count, sizeof *wider.slots),
                                    .slot_count = count,
                                    .count = known->count };

        if (!wider.slots)
                return;
        for (size_t i = 0; i < known->slot_count; i++)
                for (struct kube_entry *entry = known->slots[i], *next; entry; entry = next) {
                        next = entry->next;
                        link_entry(&wider, entry);
                }
        free(known->slots);
        *known = wider;
}

struct kube_entry *kube_known_add(struct kube_known *known, const struct kube_name *name)
{
        const size_t space = strlen(name->namespace_name) + 1, own = strlen(name->name) + 1;
        const size_t uid = strlen(name->uid) + 1;
        struct kube_entry *entry;

        if (known->count >= known->slot_count)
                grow(known);
        entry = known->slot_count ? calloc(1, sizeof *entry + space + own + uid) : NULL;
        if (!entry)
                return NULL;
        entry->name.namespace_name = memcpy(entry->text, name->namespace_name, space);
        entry->name.name = memcpy(entry->text + space, name->name, own);
        entry->name.uid = memcpy(entry->text + space + own, name->uid, uid);
        entry->hash = name_hash(name->namespace_name, name->name);
        link_entry(known, entry);
        known->count++;
        return entry;
}

void kube_known_remove(struct kube_known *known, struct kube_entry *entry)
{
        struct kube_entry **at = slot_of(known, entry->hash);

        while (*at != entry)
                at = &(*at)->next;
        *at = entry->next;
        known->count--;
        free(entry);
}

struct kube_entry *kube_known_stale(const struct kube_known *known, unsigned round, size_t *at)
{
        for (; *at < known->slot_count; ++*at)
                for (struct kube_entry *entry = known->slots[*at]; entry; entry = entry->next)
                        if (entry->round != round)
                                return entry;
        return NULL;
}

void kube_known_doubt(struct kube_known *known)
{
        for (size_t i = 0; i < known->slot_count; i++)
                for (struct kube_entry *entry = known->slots[i]; entry; entry = entry->next)
                        entry->version = 0;
}

void kube_known_done(struct kube_known *known)
{
        for (size_t i = 0; i < known->slot_count; i++)
                for (struct kube_entry *entry = known->slots[i], *next; entry; entry = next) {
                        next = entry->next;
                        free(entry);
                }
        free(known->slots);
        *known = (struct kube_known){ 0 };
}
