/* SPDX-License-Identifier: Apache-2.0 */
/* engine_name: files of Docker's and of Podman's. */
#include "engine_name.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "json_read.h"
#include "scope.h"
#include "str.h"

#define DOCKER_FILE "config.v2.json"  /* in a folder for each container */
#define PODMAN_FILE "containers.json" /* one for all */

/* Letters of names that engines give, and of no terminal's commands. */
static bool name_take(const char *name, char ret_name[static ENGINE_NAME])
{
        if (!name)
                return false;
        if (*name == '/')
                name++;
        const size_t length = strlen(name);
        if (length == 0 || length >= ENGINE_NAME ||
            strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
                    length)
                return false;
        str_copy(ret_name, ENGINE_NAME, name);
        return true;
}

static bool ends_with(const char *text, const char *ending)
{
        const size_t length = strlen(text), own = strlen(ending);

        return length >= own && strcmp(text + length - own, ending) == 0;
}

/* "DATA/containers/OTHER/hostname": a container that shares another's network has that one's. */
static bool docker_find(const char *source, const char *id, char ret_path[static ENGINE_PATH])
{
        static const char *const files[] = { "/hostname", "/hosts", "/resolv.conf", NULL };
        char folder[ENGINE_PATH];

        for (const char *const *file = files; *file; file++) {
                if (!ends_with(source, *file) || strlen(source) >= sizeof folder)
                        continue;
                str_copy(folder, strlen(source) - strlen(*file) + 1, source);
                char *slash = strrchr(folder, '/');
                if (!slash)
                        return false;
                *slash = '\0';
                return ends_with(folder, "/containers") &&
                       snprintf(ret_path, ENGINE_PATH, "%s/%s/" DOCKER_FILE, folder, id) <
                               ENGINE_PATH &&
                       access(ret_path, R_OK) == 0;
        }
        return false;
}

/* "STORAGE/overlay-containers/ID/userdata" is the bundle. */
static bool podman_find(const char *bundle, const char *id, char ret_path[static ENGINE_PATH])
{
        char ending[ENGINE_PATH];

        snprintf(ending, sizeof ending, "/%s/userdata", id);
        if (!ends_with(bundle, ending))
                return false;
        return snprintf(ret_path, ENGINE_PATH, "%.*s/" PODMAN_FILE,
                        (int)(strlen(bundle) - strlen(ending)), bundle) < ENGINE_PATH &&
               access(ret_path, R_OK) == 0;
}

bool engine_name_find(const json_t *config, const char *bundle, const char *id,
                      char ret_path[static ENGINE_PATH])
{
        const json_t *mounts = json_object_get(config, "mounts");

        if (strchr(id, '/'))
                return false;
        if (podman_find(bundle, id, ret_path))
                return true;
        for (size_t i = 0; i < json_array_size(mounts); i++) {
                const char *source = json_read_text_or_null(json_array_get(mounts, i), "source");

                if (source && docker_find(source, id, ret_path))
                        return true;
        }
        return false;
}

static const char *podman_name(const json_t *list, const char *id)
{
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *one = json_array_get(list, i);
                const char *own = json_read_text_or_null(one, "id");

                if (own && strcmp(own, id) == 0)
                        return json_string_value(json_array_get(json_object_get(one, "names"), 0));
        }
        return NULL;
}

bool engine_name_read(const char *path, const char *id, char ret_name[static ENGINE_NAME])
{
        autofree char *text = NULL;

        if (file_read(path, &text) < 0)
                return false;
        autojson json_t *root = json_loads(text, 0, NULL);
        const char *name = ends_with(path, "/" PODMAN_FILE) ? podman_name(root, id)
                                                            : json_read_text_or_null(root, "Name");

        return name_take(name, ret_name);
}

bool engine_name_noted(const json_t *config, char ret_name[static ENGINE_NAME])
{
        return name_take(
                json_read_text_or_null(json_object_get(config, "annotations"), "nerdctl/name"),
                ret_name);
}
