/* SPDX-License-Identifier: Apache-2.0 */
/* nearby: see nearby.h. */
#include "nearby.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_readable(const char *path)
{
        return access(path, R_OK) == 0;
}

static bool has_driver(const char *folder)
{
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%s/libcuda.so.1", folder);

        return length > 0 && (size_t)length < sizeof path && is_readable(path);
}

/* The build tree, then installed layouts (lib, and Debian's lib/TRIPLET). */
static const struct {
        const char *name, *variable;
        bool (*is_there)(const char *path);
        const char *relative[4]; /* to this program's folder */
} pieces[] = {
        [NEARBY_PRELOAD] = { "libvgpu.so",
                             "VGPU_LIB",
                             is_readable,
                             { "../lib/libvgpu.so", "../lib/vgpu/libvgpu.so",
                               "../" VGPU_LIBDIR "/vgpu/libvgpu.so" } },
        [NEARBY_SIM_DRIVER] = { "the simulated libcuda.so.1",
                                "VGPU_SIM_LIB",
                                has_driver,
                                { "../lib/sim", "../lib/vgpu/sim",
                                  "../" VGPU_LIBDIR "/vgpu/sim" } },
};

/* The folder of the program that runs; false: it cannot be told. */
static bool own_folder(char ret_folder[PATH_MAX])
{
        const ssize_t length = readlink("/proc/self/exe", ret_folder, PATH_MAX - 1);

        if (length <= 0)
                return false;
        ret_folder[length] = '\0';
        dirname(ret_folder);
        return true;
}

char *nearby_program(const char *name)
{
        char folder[PATH_MAX], *path;

        return own_folder(folder) && asprintf(&path, "%s/%s", folder, name) >= 0 ? path : NULL;
}

char *nearby_find(enum nearby_piece piece)
{
        char self[PATH_MAX], path[PATH_MAX + 64];

        if (!own_folder(self))
                return NULL;
        for (const char *const *relative = pieces[piece].relative; *relative; relative++) {
                snprintf(path, sizeof path, "%s/%s", self, *relative);
                if (pieces[piece].is_there(path))
                        return realpath(path, NULL);
        }
        return NULL;
}

char *nearby_choose(enum nearby_piece piece, const char *chosen, struct err *e)
{
        const bool is_chosen = chosen && *chosen;
        char *path;

        if (!is_chosen)
                path = nearby_find(piece);
        else
                path = pieces[piece].is_there(chosen) ? realpath(chosen, NULL) : NULL;
        if (!path && is_chosen)
                err_set(e, -ENOENT, "cannot find %s at the path in %s: '%.150s'",
                        pieces[piece].name, pieces[piece].variable, chosen);
        else if (!path)
                err_set(e, -ENOENT, "cannot find %s next to %s; set its path with %s",
                        pieces[piece].name, program_invocation_short_name, pieces[piece].variable);
        return path;
}
