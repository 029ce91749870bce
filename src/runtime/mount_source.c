/* SPDX-License-Identifier: Apache-2.0 */
/* mount_source: the files in a container's folder that its mounts need. */
#include "mount_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "container_paths.h"
#include "file.h"
#include "scope.h"
#include "str.h"

int mount_source_make(const char *folder, const char *path, const char *source)
{
        char target[PATH_MAX + 300];
        struct stat what;

        if (!str_starts_with(path, CONTAINER_FOLDER "/"))
                return 0;
        snprintf(target, sizeof target, "%s/mounts/%s", folder,
                 path + strlen(CONTAINER_FOLDER "/"));
        if (stat(source, &what) < 0)
                return -errno;
        if (S_ISDIR(what.st_mode))
                return mkdir(target, 0755) < 0 && errno != EEXIST ? -errno : 0;
        autoclose int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        return fd < 0 ? -errno : 0;
}

int mount_source_preload(const char *folder, const char *image_text)
{
        struct str text = { 0 };
        char path[PATH_MAX + 16];
        int r = str_appendf(&text, CONTAINER_LIBRARY "\n%s", image_text ? image_text : "");

        snprintf(path, sizeof path, "%s/ld.so.preload", folder);
        if (r == 0)
                r = file_replace(path, text.text, text.length, 0644);
        if (r == 0 && chmod(path, 0644) < 0) /* whatever the umask */
                r = -errno;
        str_done(&text);
        return r;
}
