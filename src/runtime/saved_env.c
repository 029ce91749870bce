/* SPDX-License-Identifier: Apache-2.0 */
/* saved_env: variables put into an environment, and saved. */
#include "saved_env.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "json_memory.h"
#include "scope.h"
#include "spec_edit.h"

/* Is it there already, as in an environment that was copied from a completed one? */
static bool begins_with(const char *list, const char *folders)
{
        const size_t length = strlen(folders);

        return strncmp(list, folders, length) == 0 && (!list[length] || list[length] == ':');
}

/* Libraries are looked for where the share says first, then where the container says; which of its
 * devices a program uses is the container's to say, if it does. */
static int variable_put(struct spec *spec, const char *name, const char *value)
{
        const char *old = spec_env_get(spec, name);
        autofree char *joined = NULL;

        if (old && strcmp(name, "CUDA_VISIBLE_DEVICES") == 0)
                return 0;
        if (!old || !*old || strcmp(name, "LD_LIBRARY_PATH") != 0)
                return spec_env_set(spec, name, value);
        if (begins_with(old, value))
                return 0;
        if (asprintf(&joined, "%s:%s", value, old) < 0) {
                joined = NULL;
                return -ENOMEM;
        }
        return spec_env_set(spec, name, joined);
}

int env_each(struct spec *spec, const json_t *list,
             int (*put)(struct spec *spec, const char *name, const char *value))
{
        for (size_t i = 0; i < json_array_size(list); i++) {
                const char *variable = json_string_value(json_array_get(list, i));
                const char *equals = variable ? strchr(variable, '=') : NULL;

                if (!equals)
                        return -EBADMSG;
                autofree char *name = strndup(variable, (size_t)(equals - variable));
                const int r = name ? put(spec, name, equals + 1) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return 0;
}

int env_put(struct spec *spec, const json_t *list)
{
        return env_each(spec, list, variable_put);
}

static bool list_has(const json_t *list, const json_t *item)
{
        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_equal(json_array_get(list, i), item))
                        return true;
        return false;
}

int env_add_new(json_t *list, const json_t *env, const json_t *old)
{
        for (size_t i = 0; i < json_array_size(env); i++) {
                json_t *item = json_array_get(env, i);

                if (!list_has(old, item) && json_array_append(list, item) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static void path_of(const char *folder, char ret_path[static PATH_MAX + 16])
{
        snprintf(ret_path, PATH_MAX + 16, "%s/saved_env", folder);
}

int saved_env_write(const char *folder, const json_t *list)
{
        autofree char *text = json_memory_dump(list, JSON_COMPACT);
        char path[PATH_MAX + 16];

        path_of(folder, path);
        return text ? file_replace(path, text, strlen(text), 0600) : -ENOMEM;
}

json_t *saved_env_read(const char *folder)
{
        autofree char *text = NULL;
        char path[PATH_MAX + 16];

        path_of(folder, path);
        return file_read(path, &text) < 0 ? NULL : json_memory_load_text(text, &(int){ 0 });
}
