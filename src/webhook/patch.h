/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON patch in the making: each change is made to the object at hand and noted, so that later rules
 * see it and what nobody touched is never written anew. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct patch {
        json_t *operations; /* an array; the patch owns it */
        bool is_broken;     /* out of memory on the way: the patch is not whole */
};

enum { PATCH_PATH = 512 };

void patch_init(struct patch *patch);
void patch_done(struct patch *patch);

/* object[key] = value at path/key. Takes the value's reference. Nothing is noted when it has that
 * value already. */
void patch_set(struct patch *patch, json_t *object, const char *path, const char *key,
               json_t *value);
void patch_remove(struct patch *patch, json_t *object, const char *path, const char *key);

/* The object parent[key], made if it is not there; *ret_path is its JSON pointer. NULL: it is something
 * else, or memory is short. */
json_t *patch_object(struct patch *patch, json_t *parent, const char *path, const char *key,
                     char ret_path[static PATCH_PATH]);
