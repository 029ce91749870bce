/* SPDX-License-Identifier: Apache-2.0 */
/* share_title: the file "engine" of a container's folder: a name, and a path. */
#include "share_title.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine_name.h"
#include "file.h"
#include "scope.h"
#include "share_folder.h"
#include "str.h"

static_assert(sizeof((struct held_share *)0)->title == ENGINE_NAME, "a name of an engine's");

static bool changed_at(const char *path, struct timespec *ret_changed)
{
        struct stat status;

        if (stat(path, &status) < 0)
                return false;
        *ret_changed = status.st_ctim;
        return true;
}

void share_title_read(struct held_share *held)
{
        autofree char *text = NULL;
        char path[SHARE_TEXT];

        share_folder_beside(held->path, "engine", path);
        if (file_read(path, &text) < 0)
                return;
        char *remainder = text;
        const char *name = strsep(&remainder, "\n"),
                   *file = remainder ? strsep(&remainder, "\n") : NULL;
        if (name)
                str_copy(held->title, sizeof held->title, name);
        free(held->title_file);
        held->title_file = file && *file == '/' ? strdup(file) : NULL;
        share_title_refresh(held);
}

void share_title_refresh(struct held_share *held)
{
        struct timespec changed;
        char name[ENGINE_NAME];

        if (!held->title_file || !changed_at(held->title_file, &changed) ||
            (changed.tv_sec == held->title_changed.tv_sec &&
             changed.tv_nsec == held->title_changed.tv_nsec))
                return;
        if (engine_name_read(held->title_file, held->container, name))
                str_copy(held->title, sizeof held->title, name);
        held->title_changed = changed;
}

const char *share_title_of(const struct held_share *held)
{
        return held->title[0] ? held->title : held->name;
}
