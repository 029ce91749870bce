/* SPDX-License-Identifier: Apache-2.0 */
/* driver_mount: by where it goes, what it is called and what it is. Engines mount the driver file by file, each
 * into a folder where the loader or a shell looks; a user's folders of data, and files elsewhere, may be
 * called as they like. */
#include "driver_mount.h"

#include <string.h>
#include <sys/stat.h>

#include "container_paths.h"
#include "json_read.h"
#include "str.h"

bool driver_mount_is_node(const char *path)
{
        return path && str_starts_with(path, "/dev/nvidia");
}

/* "libcuda.so.535.54.03": from the beginning of the name to its end. */
static bool is_library(const char *name)
{
        static const char *const stems[] = { "libcuda.so",    "libcudadebugger.so", "libnvcuvid.so",
                                             "libnvoptix.so", "libnvidia-",         NULL };
        const char *so = strstr(name, ".so");

        if (!so || (so[3] && so[3] != '.') || strspn(so + 3, ".0123456789") != strlen(so + 3))
                return false;
        for (const char *const *stem = stems; *stem; stem++)
                if (str_starts_with(name, *stem))
                        return true;
        return false;
}

static bool is_program(const char *name)
{
        static const char *const names[] = { "nvidia-smi",
                                             "nvidia-debugdump",
                                             "nvidia-persistenced",
                                             "nvidia-cuda-mps-control",
                                             "nvidia-cuda-mps-server",
                                             NULL };

        for (const char *const *own = names; *own; own++)
                if (strcmp(name, *own) == 0)
                        return true;
        return false;
}

static bool is_searched(const char *destination)
{
        static const char *const folders[] = { "/usr/lib/",
                                               "/usr/lib64/",
                                               "/usr/lib32/",
                                               "/usr/libx32/",
                                               "/lib/",
                                               "/lib64/",
                                               "/lib32/",
                                               "/usr/bin/",
                                               "/bin/",
                                               "/usr/sbin/",
                                               "/sbin/",
                                               "/usr/local/lib/",
                                               "/usr/local/bin/",
                                               "/usr/local/sbin/",
                                               "/usr/local/nvidia/",
                                               "/usr/local/cuda",
                                               NULL };

        for (const char *const *folder = folders; *folder; folder++)
                if (str_starts_with(destination, *folder))
                        return true;
        return false;
}

static bool is_of_kind(const char *source, mode_t kind)
{
        struct stat status;

        return source && stat(source, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

static bool is_driver_file(const char *destination, const char *source)
{
        const char *slash = strrchr(destination, '/');

        return slash && (is_library(slash + 1) || is_program(slash + 1)) &&
               is_searched(destination) && !is_of_kind(source, S_IFDIR);
}

const char *driver_mount_kind(const json_t *mount)
{
        const char *source = json_read_text_or_null(mount, "source");
        const char *destination = json_read_text_or_null(mount, "destination");

        if (driver_mount_is_node(source))
                return "a GPU's device";
        if (!destination)
                return NULL;
        if (driver_mount_is_node(destination) && !is_of_kind(source, S_IFDIR) &&
            !is_of_kind(source, S_IFREG))
                return "a GPU's device";
        if (strcmp(destination, CONTAINER_FOLDER) == 0 ||
            str_starts_with(destination, CONTAINER_FOLDER "/"))
                return "at the path of the share";
        return is_driver_file(destination, source) ? "a file of the driver" : NULL;
}
