/* SPDX-License-Identifier: Apache-2.0 */
/* spec_edit: variables, mounts and devices of a container's configuration. */
#include "spec_edit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "json_read.h"
#include "scope.h"
#include "str.h"

void spec_remove(struct spec *spec, enum spec_part part,
                 bool (*matches)(const json_t *item, void *owner), void *owner)
{
        json_t *items = spec_query(spec, part);

        for (size_t i = json_array_size(items); i > 0; i--) {
                if (!matches(json_array_get(items, i - 1), owner))
                        continue;
                json_array_remove(items, i - 1);
                spec->is_changed[part] = true;
        }
}

static bool is_of_name(const char *variable, const char *name)
{
        const size_t length = strlen(name);

        return variable && strncmp(variable, name, length) == 0 && variable[length] == '=';
}

const char *spec_env_get(const struct spec *spec, const char *name)
{
        const json_t *env = spec_query(spec, SPEC_ENV);

        for (size_t i = json_array_size(env); i > 0; i--) {
                const char *variable = json_string_value(json_array_get(env, i - 1));

                if (is_of_name(variable, name))
                        return variable + strlen(name) + 1;
        }
        return NULL;
}

static bool env_has_name(const json_t *item, void *name)
{
        return is_of_name(json_string_value(item), name);
}

int spec_env_set(struct spec *spec, const char *name, const char *value)
{
        json_t *env = spec_change(spec, SPEC_ENV);
        json_t *variable = json_sprintf("%s=%s", name, value);

        spec_remove(spec, SPEC_ENV, env_has_name, (void *)name);
        return json_array_append_new(env, variable) < 0 ? -ENOMEM : 0;
}

/* No set-user-id program and no device comes in by a mount of ours, and nothing mounted elsewhere
 * shows through it. */
static json_t *mount_json(const struct spec_mount *mount)
{
        return json_pack("{s:s, s:s, s:s, s:[s,s,s,s,s]}", "destination", mount->destination,
                         "type", "bind", "source", mount->source, "options", "bind", "rprivate",
                         "nosuid", "nodev", mount->is_readonly ? "ro" : "rw");
}

int spec_mount_add(struct spec *spec, const struct spec_mount *mount)
{
        return json_array_append_new(spec_change(spec, SPEC_MOUNTS), mount_json(mount)) < 0
                       ? -ENOMEM
                       : 0;
}

int spec_mount_insert(struct spec *spec, const struct spec_mount *mount)
{
        json_t *mounts = spec_change(spec, SPEC_MOUNTS);
        size_t at = 0;

        for (; at < json_array_size(mounts); at++) {
                const char *other =
                        json_read_text_or_null(json_array_get(mounts, at), "destination");

                if (other && str_starts_with(other, mount->destination) &&
                    other[strlen(mount->destination)] == '/')
                        break;
        }
        return json_array_insert_new(mounts, at, mount_json(mount)) < 0 ? -ENOMEM : 0;
}

int spec_device_add(struct spec *spec, const struct spec_device *device)
{
        const json_int_t major = device->major, minor = device->minor;
        json_t *node =
                json_pack("{s:s, s:s, s:I, s:I, s:i, s:i, s:i}", "path", device->path, "type", "c",
                          "major", major, "minor", minor, "fileMode", 0666, "uid", 0, "gid", 0);
        json_t *rule = json_pack("{s:b, s:s, s:I, s:I, s:s}", "allow", 1, "type", "c", "major",
                                 major, "minor", minor, "access", "rw");

        if (json_array_append_new(spec_change(spec, SPEC_DEVICES), node) < 0)
                return json_decref(rule), -ENOMEM;
        return json_array_append_new(spec_change(spec, SPEC_RULES), rule) < 0 ? -ENOMEM : 0;
}
