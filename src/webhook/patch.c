/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON patch in the making. */
#include "patch.h"

#include <stdio.h>
#include <string.h>

#include "json_read.h"

void patch_init(struct patch *patch)
{
        *patch = (struct patch){ .operations = json_array() };
        patch->is_broken = !patch->operations;
}

void patch_done(struct patch *patch)
{
        json_decref(patch->operations);
        patch->operations = NULL;
}

/* path/key, with key escaped as RFC 6901 says. */
static void patch_join(const char *path, const char *key, char ret_path[static PATCH_PATH])
{
        size_t length = (size_t)snprintf(ret_path, PATCH_PATH, "%s/", path);

        for (; *key && length + 3 < PATCH_PATH; key++) {
                if (*key == '~' || *key == '/')
                        length += (size_t)sprintf(ret_path + length, *key == '~' ? "~0" : "~1");
                else
                        ret_path[length++] = *key;
        }
        ret_path[length < PATCH_PATH ? length : PATCH_PATH - 1] = '\0';
}

static void operation_add(struct patch *patch, const char *name, const char *path, const char *key,
                          json_t *value)
{
        char target[PATCH_PATH];
        json_t *operation;

        patch_join(path, key, target);
        operation = value ? json_pack("{s:s, s:s, s:O}", "op", name, "path", target, "value", value)
                          : json_pack("{s:s, s:s}", "op", name, "path", target);
        if (!operation || json_array_append_new(patch->operations, operation) < 0)
                patch->is_broken = true;
}

void patch_set(struct patch *patch, json_t *object, const char *path, const char *key,
               json_t *value)
{
        const json_t *old = json_object_get(object, key);

        if (!value) {
                patch->is_broken = true;
                return;
        }
        if (old && json_equal(old, value)) {
                json_decref(value);
                return;
        }
        /* The patch keeps a copy: what is set may grow afterwards, by operations of its own. */
        autojson json_t *copy = json_deep_copy(value);

        if (copy)
                operation_add(patch, old ? "replace" : "add", path, key, copy);
        else
                patch->is_broken = true;
        if (json_object_set_new(object, key, value) < 0)
                patch->is_broken = true;
}

void patch_remove(struct patch *patch, json_t *object, const char *path, const char *key)
{
        if (!json_object_get(object, key))
                return;
        operation_add(patch, "remove", path, key, NULL);
        json_object_del(object, key);
}

json_t *patch_object(struct patch *patch, json_t *parent, const char *path, const char *key,
                     char ret_path[static PATCH_PATH])
{
        json_t *child = json_object_get(parent, key);

        patch_join(path, key, ret_path);
        if (!child || json_is_null(child)) {
                patch_set(patch, parent, path, key, json_object());
                child = json_object_get(parent, key);
        }
        return json_is_object(child) ? child : NULL;
}
