/* SPDX-License-Identifier: Apache-2.0 */
/* Names in scope while parsing: a hash of chains whose head is the innermost declaration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_build.h"

#define BUCKETS 4096u

static uint32_t slice_hash(struct slice slice)
{
        uint32_t hash = 2166136261u;

        for (size_t i = 0; i < slice.length; i++)
                hash = (hash ^ (unsigned char)slice.text[i]) * 16777619u;
        return hash % BUCKETS;
}

bool slice_is(struct slice slice, const char *text)
{
        return strlen(text) == slice.length && memcmp(slice.text, text, slice.length) == 0;
}

char *slice_copy(struct slice slice)
{
        char *copy = malloc(slice.length + 1);

        if (copy) {
                memcpy(copy, slice.text, slice.length);
                copy[slice.length] = 0;
        }
        return copy;
}

int symbols_init(struct symbols *symbols)
{
        *symbols = (struct symbols){ .buckets = malloc(BUCKETS * sizeof(uint32_t)) };
        if (!symbols->buckets)
                return -ENOMEM;
        memset(symbols->buckets, 0xff, BUCKETS * sizeof(uint32_t));
        return 0;
}

void symbols_done(struct symbols *symbols)
{
        free(symbols->buckets);
        free(symbols->list);
        *symbols = (struct symbols){ 0 };
}

struct symbol *symbol_find(struct parser *p, struct slice name)
{
        struct symbols *symbols = &p->symbols;

        for (uint32_t i = symbols->buckets[slice_hash(name)]; i != UINT32_MAX;
             i = symbols->list[i].next) {
                struct symbol *s = &symbols->list[i];

                if (s->name.length == name.length &&
                    memcmp(s->name.text, name.text, name.length) == 0)
                        return s;
        }
        return NULL;
}

struct symbol *symbol_add(struct parser *p, struct slice name)
{
        struct symbols *symbols = &p->symbols;
        uint32_t bucket = slice_hash(name), index = symbols->count;
        struct symbol *s;

        if (!parser_grow(p, &symbols->list, &symbols->capacity, index, sizeof *symbols->list))
                return NULL;
        s = &symbols->list[index];
        *s = (struct symbol){ .name = name, .bucket = bucket, .next = symbols->buckets[bucket] };
        symbols->buckets[bucket] = index;
        symbols->count++;
        return s;
}

void symbols_drop(struct symbols *symbols, uint32_t count)
{
        while (symbols->count > count) {
                struct symbol *s = &symbols->list[--symbols->count];

                symbols->buckets[s->bucket] = s->next;
        }
}
