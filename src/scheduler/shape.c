/* Answers of nodes, remembered by what was asked. */
#include "shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct shape *shape_of(struct hash_link *link)
{
        return link ? container_of(link, struct shape, link) : NULL;
}

static void answers_forget(struct shape *shape)
{
        free(shape->answers);
        shape->answers = NULL;
        shape->answer_count = 0;
        while (shape->reason_count > 0)
                free(shape->reasons[--shape->reason_count]);
}

static void shape_free(struct shapes *shapes, struct shape *shape)
{
        hash_remove(&shapes->all, &shape->link);
        list_remove(&shape->by_use);
        answers_forget(shape);
        free(shape);
}

void shapes_init(struct shapes *shapes)
{
        shapes->all = (struct hash){ 0 };
        list_init(&shapes->by_use);
}

void shapes_done(struct shapes *shapes)
{
        struct hash_link *link;

        while ((link = hash_any(&shapes->all)))
                shape_free(shapes, shape_of(link));
        hash_done(&shapes->all);
}

/* Of the bytes, eight at a time. */
static uint64_t digest_of(const struct asking *asking)
{
        uint64_t digest = UINT64_C(0xcbf29ce484222325), word;

        for (size_t at = 0; at + sizeof word <= sizeof *asking; at += sizeof word) {
                memcpy(&word, (const char *)asking + at, sizeof word);
                digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
                digest ^= digest >> 29;
        }
        return digest;
}

/* The one asked longest ago loses its answers, and goes if nobody holds it. */
static void oldest_forget(struct shapes *shapes)
{
        unsigned kept = 0;

        for (struct list *at = shapes->by_use.previous, *before; at != &shapes->by_use;
             at = before) {
                struct shape *shape = container_of(at, struct shape, by_use);

                before = at->previous;
                if (++kept <= SHAPES_KEPT)
                        continue;
                answers_forget(shape);
                if (shape->holders == 0)
                        shape_free(shapes, shape);
                else
                        list_remove(&shape->by_use);
        }
}

static struct shape *shape_new(struct shapes *shapes, const char *key, const struct asking *asking)
{
        struct shape *shape = calloc(1, sizeof *shape);

        if (!shape)
                return NULL;
        memcpy(&shape->asking, asking, sizeof *asking);
        memcpy(shape->key, key, sizeof shape->key);
        list_init(&shape->by_use);
        if (hash_add(&shapes->all, &shape->link, shape->key) == 0)
                return shape;
        free(shape);
        return NULL;
}

struct shape *shapes_find(struct shapes *shapes, const struct asking *asking)
{
        uint64_t digest = digest_of(asking);
        struct shape *shape;
        char key[17];

        /* Who asks for something else has another shape, whatever its digest. */
        do {
                snprintf(key, sizeof key, "%016" PRIx64, digest++);
                shape = shape_of(hash_find(&shapes->all, key));
        } while (shape && memcmp(&shape->asking, asking, sizeof *asking) != 0);
        if (!shape)
                shape = shape_new(shapes, key, asking);
        if (!shape)
                return NULL;
        list_remove(&shape->by_use);
        list_append(&shapes->by_use, &shape->by_use);
        oldest_forget(shapes);
        return shape;
}

void shape_hold(struct shape *shape)
{
        shape->holders++;
}

void shape_release(struct shapes *shapes, struct shape *shape)
{
        /* One that is among the last asked stays for those to come. */
        if (--shape->holders == 0 && list_is_empty(&shape->by_use))
                shape_free(shapes, shape);
}

static int answers_grow(struct shape *shape, size_t least)
{
        size_t count = shape->answer_count ? shape->answer_count : 64;
        struct shape_answer *bigger;

        while (count < least)
                count *= 2;
        bigger = reallocarray(shape->answers, count, sizeof *bigger);
        if (!bigger)
                return -1;
        memset(bigger + shape->answer_count, 0, (count - shape->answer_count) * sizeof *bigger);
        shape->answers = bigger;
        shape->answer_count = count;
        return 0;
}

/* 1 …; 0: out of memory. */
static uint16_t reason_number(struct shape *shape, const char *text)
{
        json_t *string = json_string(text);
        char *reason = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;

        json_decref(string);
        if (!reason)
                return 0;
        for (unsigned i = 0; i < shape->reason_count; i++) {
                if (strcmp(shape->reasons[i], reason) == 0) {
                        free(reason);
                        return (uint16_t)(i + 1);
                }
        }
        shape->reasons[shape->reason_count++] = reason;
        return (uint16_t)shape->reason_count;
}

const struct shape_answer *shape_ask(struct shape *shape, const struct cluster_node *node)
{
        struct placement placement;
        struct err e = { 0 };

        if (node->number < shape->answer_count &&
            shape->answers[node->number].version == node->version)
                return &shape->answers[node->number];
        if (shape->reason_count == SHAPE_REASONS)
                answers_forget(shape);
        if (node->number >= shape->answer_count && answers_grow(shape, node->number + 1u) < 0)
                return NULL;
        struct shape_answer answer = { .version = node->version };

        if (cluster_place(node, &shape->asking, NULL, &placement, &e) < 0) {
                answer.reason = reason_number(shape, e.text);
                if (answer.reason == 0)
                        return NULL;
        } else {
                const struct placement_node place = { .cards = node->places,
                                                      .card_count = (unsigned)node->cards.count };
                const unsigned fullness = placement_fullness(&place, &placement);

                answer.fullness = (uint16_t)(fullness > 1000 ? 1000 : fullness);
        }
        shape->answers[node->number] = answer;
        return &shape->answers[node->number];
}

const char *shape_reason(const struct shape *shape, const struct shape_answer *answer)
{
        return shape->reasons[answer->reason - 1];
}
