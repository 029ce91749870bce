/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of nodes, remembered by request. */
#include "request_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_memory.h"
#include "json_read.h"

static struct request_class *class_of(struct hash_link *link)
{
        return link ? container_of(link, struct request_class, link) : NULL;
}

static void answers_forget(struct request_class *class)
{
        free(class->answers);
        class->answers = NULL;
        class->answer_count = 0;
        while (class->reason_count > 0)
                free(class->reasons[--class->reason_count]);
}

static void class_free(struct request_cache *cache, struct request_class *class)
{
        hash_remove(&cache->all, &class->link);
        list_remove(&class->by_use);
        answers_forget(class);
        free(class);
}

void request_cache_init(struct request_cache *cache)
{
        cache->all = (struct hash){ 0 };
        list_init(&cache->by_use);
}

void request_cache_done(struct request_cache *cache)
{
        struct hash_link *link;

        while ((link = hash_any(&cache->all)))
                class_free(cache, class_of(link));
        hash_done(&cache->all);
}

/* Of the bytes, eight at a time. */
static uint64_t digest_of(const struct gpu_request *gpu_request)
{
        uint64_t digest = UINT64_C(0xcbf29ce484222325), word;

        for (size_t at = 0; at + sizeof word <= sizeof *gpu_request; at += sizeof word) {
                memcpy(&word, (const char *)gpu_request + at, sizeof word);
                digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
                digest ^= digest >> 29;
        }
        return digest;
}

/* The one asked longest ago loses its answers, and goes if nobody holds it. */
static void oldest_forget(struct request_cache *cache)
{
        unsigned kept = 0;

        for (struct list *at = cache->by_use.previous, *before; at != &cache->by_use; at = before) {
                struct request_class *class = container_of(at, struct request_class, by_use);

                before = at->previous;
                if (++kept <= REQUEST_CACHE_CLASSES)
                        continue;
                answers_forget(class);
                if (class->holders == 0)
                        class_free(cache, class);
                else
                        list_remove(&class->by_use);
        }
}

static struct request_class *class_new(struct request_cache *cache, const char *key,
                                       const struct gpu_request *gpu_request)
{
        struct request_class *class = calloc(1, sizeof *class);

        if (!class)
                return NULL;
        memcpy(&class->gpu_request, gpu_request, sizeof *gpu_request);
        memcpy(class->key, key, sizeof class->key);
        list_init(&class->by_use);
        if (hash_add(&cache->all, &class->link, class->key) == 0)
                return class;
        free(class);
        return NULL;
}

struct request_class *request_cache_find(struct request_cache *cache,
                                         const struct gpu_request *gpu_request)
{
        uint64_t digest = digest_of(gpu_request);
        struct request_class *class;
        char key[17];

        /* Another request has another class, whatever its digest. */
        do {
                snprintf(key, sizeof key, "%016" PRIx64, digest++);
                class = class_of(hash_find(&cache->all, key));
        } while (class && memcmp(&class->gpu_request, gpu_request, sizeof *gpu_request) != 0);
        if (!class)
                class = class_new(cache, key, gpu_request);
        if (!class)
                return NULL;
        list_remove(&class->by_use);
        list_append(&cache->by_use, &class->by_use);
        oldest_forget(cache);
        return class;
}

void request_class_hold(struct request_class *class)
{
        class->holders++;
}

void request_class_release(struct request_cache *cache, struct request_class *class)
{
        /* One that is among the last asked stays for those to come. */
        if (--class->holders == 0 && list_is_empty(&class->by_use))
                class_free(cache, class);
}

static int answers_grow(struct request_class *class, size_t least)
{
        size_t count = class->answer_count ? class->answer_count : 64;
        struct request_answer *bigger;

        while (count < least)
                count *= 2;
        bigger = reallocarray(class->answers, count, sizeof *bigger);
        if (!bigger)
                return -1;
        memset(bigger + class->answer_count, 0, (count - class->answer_count) * sizeof *bigger);
        class->answers = bigger;
        class->answer_count = count;
        return 0;
}

/* 1 …; 0: out of memory. */
static uint16_t reason_number(struct request_class *class, const char *text)
{
        autojson json_t *string = json_string(text);
        char *reason = string ? json_memory_dump(string, JSON_ENCODE_ANY) : NULL;

        if (!reason)
                return 0;
        for (unsigned i = 0; i < class->reason_count; i++) {
                if (strcmp(class->reasons[i], reason) == 0) {
                        free(reason);
                        return (uint16_t)(i + 1);
                }
        }
        class->reasons[class->reason_count++] = reason;
        return (uint16_t) class->reason_count;
}

const struct request_answer *request_class_query(struct request_class *class,
                                                 const struct cluster_node *node)
{
        struct placement placement;
        struct err e = { 0 };

        if (node->number < class->answer_count &&
            class->answers[node->number].version == node->version)
                return &class->answers[node->number];
        if (class->reason_count == REQUEST_CLASS_REASONS)
                answers_forget(class);
        if (node->number >= class->answer_count && answers_grow(class, node->number + 1u) < 0)
                return NULL;
        struct request_answer answer = { .version = node->version };

        if (cluster_place(node, &class->gpu_request, NULL, &placement, &e) < 0) {
                answer.reason = reason_number(class, e.text);
                if (answer.reason == 0)
                        return NULL;
        } else {
                const struct placement_node target = { .devices = node->placement_devices,
                                                       .device_count =
                                                               (unsigned)node->devices.count };
                const unsigned fullness = placement_fullness(&target, &placement);

                answer.fullness = (uint16_t)(fullness > 1000 ? 1000 : fullness);
        }
        class->answers[node->number] = answer;
        return &class->answers[node->number];
}

const char *request_class_reason(const struct request_class *class,
                                 const struct request_answer *answer)
{
        return class->reasons[answer->reason - 1];
}
