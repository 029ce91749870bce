/* SPDX-License-Identifier: Apache-2.0 */
/* access_cache: what the API server answered about requests, for a bounded time, and how often it may be asked.
 * Pure: time is a parameter. Tokens are not in here, only keys made of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        ACCESS_KEY_BYTES = 32,
        ACCESS_ENTRIES = 256,   /* at most; a refusal never pushes out what is allowed */
        ACCESS_ALLOWED_S = 60,  /* so long a right that was taken away is still believed */
        ACCESS_REFUSED_S = 10,  /* so long a right that was given is not yet known */
        ACCESS_RECALL_S = 3600, /* so long who was allowed is asked about first */
        ACCESS_BURST = 20,      /* questions at once … */
        ACCESS_PER_S = 5,       /* … and per second */
};

enum access_verdict {
        ACCESS_UNKNOWN,  /* nobody could say: refuse it */
        ACCESS_ALLOWED,  /* the token's user may do it … */
        ACCESS_DENIED,   /* … or may not */
        ACCESS_STRANGER, /* the token is nobody's */
};

/* A digest of token, verb and path, made with a secret: nobody can choose one. */
struct access_key {
        uint8_t bytes[ACCESS_KEY_BYTES];
};

struct access_entry {
        struct access_key key;
        enum access_verdict verdict;
        uint64_t put_ns;
        char *user; /* "": nobody */
};

/* Zeroed is empty. */
struct access_cache {
        struct access_entry *entries; /* NULL until there is one */
        size_t count;
};

/* What holds now; NULL: it must be asked. The entry stays until the next put. */
const struct access_entry *access_cache_find(const struct access_cache *cache,
                                             const struct access_key *key, uint64_t now_ns);
/* It was allowed when it was asked last, within ACCESS_RECALL_S. */
bool access_cache_recalls(const struct access_cache *cache, const struct access_key *key,
                          uint64_t now_ns);
/* Not ACCESS_UNKNOWN. Without memory for it, it is asked again. */
void access_cache_put(struct access_cache *cache, const struct access_key *key,
                      enum access_verdict verdict, const char *user, uint64_t now_ns);
void access_cache_done(struct access_cache *cache);

/* A bucket of questions that fills with time. Zeroed is full. */
struct access_budget {
        uint64_t empty_ns; /* when it would have been empty, had nothing been taken since */
};
bool access_budget_take(struct access_budget *budget, uint64_t now_ns);
