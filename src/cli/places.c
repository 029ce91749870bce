/* Where machines of `vgpu run --sim` live, and what lies next to this program. */
#include "places.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t places_list(const char *ret_places[PLACES])
{
        const char *const candidates[PLACES] = { getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp" };
        size_t count = 0;

        for (size_t i = 0; i < PLACES; i++)
                if (candidates[i] && candidates[i][0] == '/' &&
                    access(candidates[i], W_OK | X_OK) == 0)
                        ret_places[count++] = candidates[i];
        return count;
}

static bool has_library(const char *folder)
{
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%s/libcuda.so.1", folder);

        return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

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

char *places_beside(const char *program)
{
        char folder[PATH_MAX], *path;

        return own_folder(folder) && asprintf(&path, "%s/%s", folder, program) >= 0 ? path : NULL;
}

static bool is_readable(const char *path)
{
        return access(path, R_OK) == 0;
}

/* Something that comes with this program: where the variable says, or near. */
struct piece {
        const char *name, *variable;
        bool (*is_there)(const char *path);
        const char *relative[4]; /* to this program's folder */
};

static char *piece_near(const struct piece *piece)
{
        char self[PATH_MAX], path[PATH_MAX + 64];

        if (!own_folder(self))
                return NULL;
        for (const char *const *relative = piece->relative; *relative; relative++) {
                snprintf(path, sizeof path, "%s/%s", self, *relative);
                if (piece->is_there(path))
                        return realpath(path, NULL);
        }
        return NULL;
}

/* `chosen` is what the variable says. */
static char *piece_find(const struct piece *piece, const char *chosen, struct err *e)
{
        char *path;

        if (chosen && *chosen) {
                path = piece->is_there(chosen) ? realpath(chosen, NULL) : NULL;
                if (!path)
                        err_set(e, -ENOENT, "%s was not found where %s says: '%.150s'", piece->name,
                                piece->variable, chosen);
                return path;
        }
        path = piece_near(piece);
        if (!path)
                err_set(e, -ENOENT, "%s was not found next to vgpu; say where it is with %s",
                        piece->name, piece->variable);
        return path;
}

/* The build tree, then installed layouts (lib, and Debian's lib/TRIPLET). */
char *places_sim_library(struct err *e)
{
        static const struct piece piece = { "the simulated libcuda.so.1",
                                            "VGPU_SIM_LIB",
                                            has_library,
                                            { "../lib/sim", "../lib/vgpu/sim",
                                              "../" VGPU_LIBDIR "/vgpu/sim" } };

        return piece_find(&piece, getenv("VGPU_SIM_LIB"), e);
}

char *places_preload_library(struct err *e)
{
        static const struct piece piece = { "libvgpu.so",
                                            "VGPU_LIB",
                                            is_readable,
                                            { "../lib/libvgpu.so", "../lib/vgpu/libvgpu.so",
                                              "../" VGPU_LIBDIR "/vgpu/libvgpu.so" } };

        return piece_find(&piece, getenv("VGPU_LIB"), e);
}
