/* SPDX-License-Identifier: Apache-2.0 */
/* A short table, searched from its beginning: a search costs less than the digest that it is for. */
#include "access_cache.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

static struct access_entry *entry_find(const struct access_cache *cache,
                                       const struct access_key *key)
{
        /* Where two digests part says nothing about a token: nobody can make one without the secret. */
        for (size_t i = 0; i < cache->count; i++)
                if (memcmp(&cache->entries[i].key, key, sizeof *key) == 0)
                        return &cache->entries[i];
        return NULL;
}

static bool is_fresh(const struct access_entry *entry, uint64_t now_ns)
{
        const uint64_t life_s =
                entry->verdict == ACCESS_ALLOWED ? ACCESS_ALLOWED_S : ACCESS_REFUSED_S;

        return now_ns - entry->put_ns < life_s * NS_PER_S;
}

const struct access_entry *access_cache_find(const struct access_cache *cache,
                                             const struct access_key *key, uint64_t now_ns)
{
        const struct access_entry *entry = entry_find(cache, key);

        return entry && is_fresh(entry, now_ns) ? entry : NULL;
}

static bool is_recalled(const struct access_entry *entry, uint64_t now_ns)
{
        return entry->verdict == ACCESS_ALLOWED &&
               now_ns - entry->put_ns < ACCESS_RECALL_S * NS_PER_S;
}

bool access_cache_recalls(const struct access_cache *cache, const struct access_key *key,
                          uint64_t now_ns)
{
        const struct access_entry *entry = entry_find(cache, key);

        return entry && is_recalled(entry, now_ns);
}

/* The oldest that is not recalled, so that strangers push out strangers; else, for what is allowed, the oldest
 * of all. */
static struct access_entry *victim_find(const struct access_cache *cache, bool is_allowed,
                                        uint64_t now_ns)
{
        struct access_entry *oldest[2] = { NULL, NULL };

        for (size_t i = 0; i < cache->count; i++) {
                struct access_entry *entry = &cache->entries[i];
                struct access_entry **at = &oldest[is_recalled(entry, now_ns)];

                if (!*at || entry->put_ns < (*at)->put_ns)
                        *at = entry;
        }
        return oldest[0] || !is_allowed ? oldest[0] : oldest[1];
}

/* Where the answer goes; NULL: nowhere. */
static struct access_entry *target_find(struct access_cache *cache, const struct access_key *key,
                                        bool is_allowed, uint64_t now_ns)
{
        struct access_entry *entry = entry_find(cache, key);

        if (entry)
                return entry;
        if (!cache->entries)
                cache->entries = calloc(ACCESS_ENTRIES, sizeof *cache->entries);
        if (!cache->entries)
                return NULL;
        return cache->count < ACCESS_ENTRIES ? &cache->entries[cache->count]
                                             : victim_find(cache, is_allowed, now_ns);
}

void access_cache_put(struct access_cache *cache, const struct access_key *key,
                      enum access_verdict verdict, const char *user, uint64_t now_ns)
{
        struct access_entry *target = target_find(cache, key, verdict == ACCESS_ALLOWED, now_ns);
        char *name = target ? strdup(user) : NULL;

        if (!name)
                return; /* what was known of this key ends by itself */
        if (target == &cache->entries[cache->count])
                cache->count++;
        free(target->user);
        *target = (struct access_entry){
                .key = *key, .verdict = verdict, .put_ns = now_ns, .user = name
        };
}

void access_cache_done(struct access_cache *cache)
{
        for (size_t i = 0; i < cache->count; i++)
                free(cache->entries[i].user);
        free(cache->entries);
        *cache = (struct access_cache){ 0 };
}

bool access_budget_take(struct access_budget *budget, uint64_t now_ns)
{
        const uint64_t one_ns = NS_PER_S / ACCESS_PER_S, most_ns = ACCESS_BURST * one_ns;
        const uint64_t full_ns = now_ns > most_ns ? now_ns - most_ns : 0;

        if (budget->empty_ns < full_ns)
                budget->empty_ns = full_ns;
        if (now_ns < budget->empty_ns + one_ns)
                return false;
        budget->empty_ns += one_ns;
        return true;
}
