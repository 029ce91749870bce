/* SPDX-License-Identifier: Apache-2.0 */
/* cdi_inject: container edits of the Container Device Interface, version 0.6. */
#include "cdi_inject.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "file.h"
#include "json_memory.h"
#include "json_read.h"
#include "saved_env.h"
#include "scope.h"
#include "spec_edit.h"
#include "str.h"
#include "yaml_json.h"

#define FOLDERS "/etc/cdi:/var/run/cdi"

/* What the specification leaves out is the host's own. */
static int node_numbers(const json_t *node, const char *path, struct spec_device *ret_device)
{
        const char *host = json_read_text_or_null(node, "hostPath");
        const json_t *major = json_object_get(node, "major"),
                     *minor = json_object_get(node, "minor");
        struct stat found;

        *ret_device = (struct spec_device){ path, (unsigned)json_integer_value(major),
                                            (unsigned)json_integer_value(minor) };
        if (major && minor && json_integer_value(major) > 0)
                return 0;
        if (stat(host ? host : path, &found) < 0)
                return -errno;
        if (!S_ISCHR(found.st_mode))
                return -ENODEV;
        ret_device->major = major(found.st_rdev);
        ret_device->minor = minor(found.st_rdev);
        return 0;
}

static int nodes_put(struct spec *spec, const json_t *nodes)
{
        for (size_t i = 0; i < json_array_size(nodes); i++) {
                const json_t *node = json_array_get(nodes, i);
                const char *path = json_read_text_or_null(node, "path");
                struct spec_device device;
                int r = path ? node_numbers(node, path, &device) : -EBADMSG;

                if (r == 0)
                        r = spec_device_add(spec, &device);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int mounts_put(struct spec *spec, const json_t *mounts)
{
        for (size_t i = 0; i < json_array_size(mounts); i++) {
                const json_t *mount = json_array_get(mounts, i);
                const char *source = json_read_text_or_null(mount, "hostPath");
                const char *destination = json_read_text_or_null(mount, "containerPath");
                const char *type = json_read_text_or_null(mount, "type");
                json_t *options = json_object_get(mount, "options");

                if (!source || !destination)
                        return -EBADMSG;
                json_t *made =
                        json_pack("{s:s, s:s, s:s, s:O?}", "destination", destination, "type",
                                  type ? type : "bind", "source", source, "options", options);
                if (json_array_append_new(spec_change(spec, SPEC_MOUNTS), made) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int hooks_put(struct spec *spec, const json_t *hooks)
{
        for (size_t i = 0; i < json_array_size(hooks); i++) {
                json_t *hook = json_deep_copy(json_array_get(hooks, i));
                autofree char *when =
                        hook ? strdup(json_read_text_or_null(hook, "hookName") ?: "") : NULL;
                json_t *all = when && *when ? spec_change(spec, SPEC_HOOKS) : NULL;

                json_object_del(hook, "hookName");
                if (all && !json_object_get(all, when))
                        json_object_set_new(all, when, json_array());
                if (json_array_append_new(json_object_get(all, when), hook) < 0)
                        return -EBADMSG;
        }
        return 0;
}

static int edits_put(struct spec *spec, const json_t *edits)
{
        int r = env_each(spec, json_object_get(edits, "env"), spec_env_set);

        if (r == 0)
                r = nodes_put(spec, json_object_get(edits, "deviceNodes"));
        if (r == 0)
                r = mounts_put(spec, json_object_get(edits, "mounts"));
        if (r == 0)
                r = hooks_put(spec, json_object_get(edits, "hooks"));
        return r;
}

struct wanted {
        const char *name; /* "nvidia.com/gpu=0" */
        bool is_found;
};

/* Puts in what the file has of the device. */
static int file_take(struct spec *spec, const json_t *file, struct wanted *wanted)
{
        const char *equals = strchr(wanted->name, '='),
                   *kind = json_read_text_or_null(file, "kind");
        const json_t *devices = json_object_get(file, "devices");

        if (!kind || strlen(kind) != (size_t)(equals - wanted->name) ||
            strncmp(kind, wanted->name, strlen(kind)) != 0)
                return 0;
        for (size_t i = 0; i < json_array_size(devices) && !wanted->is_found; i++) {
                const json_t *device = json_array_get(devices, i);

                if (!str_is_equal(json_read_text_or_null(device, "name"), equals + 1))
                        continue;
                wanted->is_found = true;
                const int r = edits_put(spec, json_object_get(file, "containerEdits"));
                return r < 0 ? r : edits_put(spec, json_object_get(device, "containerEdits"));
        }
        return 0;
}

static bool has_ending(const char *name, const char *ending)
{
        const size_t length = strlen(name), own = strlen(ending);

        return length > own && strcmp(name + length - own, ending) == 0;
}

static json_t *file_parse(const char *folder, const char *name)
{
        char path[PATH_MAX];
        autofree char *text = NULL;
        json_t *file = NULL;

        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (file_read(path, &text) < 0)
                return NULL;
        if (has_ending(name, ".json"))
                return json_memory_load_text(text, &(int){ 0 });
        return yaml_json_parse(text, strlen(text), &file, NULL) < 0 ? NULL : file;
}

static int folder_take(struct spec *spec, const char *folder, struct wanted *wanted)
{
        DIR *directory = opendir(folder);
        struct dirent *entry;
        int r = 0;

        while (directory && r == 0 && !wanted->is_found && (entry = readdir(directory))) {
                if (!has_ending(entry->d_name, ".json") && !has_ending(entry->d_name, ".yaml"))
                        continue;
                autojson json_t *file = file_parse(folder, entry->d_name);
                r = file_take(spec, file, wanted);
        }
        if (directory)
                closedir(directory);
        return r;
}

static int device_put(struct spec *spec, const char *name, struct err *e)
{
        const char *named = getenv("VGPU_RUNTIME_CDI"), *folders = named ? named : FOLDERS;
        struct wanted wanted = { .name = name };
        int r = strchr(name, '=') ? 0 : -EINVAL;

        while (*folders && r == 0 && !wanted.is_found) {
                const size_t length = strcspn(folders, ":");
                autofree char *folder = strndup(folders, length);

                r = folder ? folder_take(spec, folder, &wanted) : -ENOMEM;
                folders += length + (folders[length] == ':');
        }
        if (r < 0)
                return err_set(e, r, "cannot inject the CDI device '%.100s': %s", name,
                               strerror(-r));
        return wanted.is_found ? 0
                               : err_set(e, -ENOENT, "no CDI specification in %.80s has '%.80s'",
                                         named ? named : FOLDERS, name);
}

int cdi_inject(struct spec *spec, char *const *names, size_t count, struct err *e)
{
        int r = 0;

        for (size_t i = 0; i < count && r == 0; i++)
                r = device_put(spec, names[i], e);
        return r;
}
