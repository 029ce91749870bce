/* Where machines of `vgpu run --sim` live, and what lies next to this program. */
#include "places.h"

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

/* The first of the paths, relative to this program's folder, that `is_there` accepts. */
static char *find_near(const char *const *relative, bool (*is_there)(const char *path))
{
        char self[PATH_MAX], path[PATH_MAX + 64];

        if (!own_folder(self))
                return NULL;
        for (; *relative; relative++) {
                snprintf(path, sizeof path, "%s/%s", self, *relative);
                if (is_there(path))
                        return realpath(path, NULL);
        }
        return NULL;
}

char *places_sim_library(void)
{
        /* The build tree, then installed layouts (lib, and Debian's lib/TRIPLET). */
        static const char *const relative[] = { "../lib/sim", "../lib/vgpu/sim",
                                                "../" VGPU_LIBDIR "/vgpu/sim", NULL };
        const char *chosen = getenv("VGPU_SIM_LIB");

        if (chosen && *chosen)
                return has_library(chosen) ? realpath(chosen, NULL) : NULL;
        return find_near(relative, has_library);
}

static bool is_readable(const char *path)
{
        return access(path, R_OK) == 0;
}

char *places_preload_library(void)
{
        static const char *const relative[] = { "../lib/libvgpu.so", "../lib/vgpu/libvgpu.so",
                                                "../" VGPU_LIBDIR "/vgpu/libvgpu.so", NULL };
        const char *chosen = getenv("VGPU_LIB");

        if (chosen && *chosen)
                return is_readable(chosen) ? realpath(chosen, NULL) : NULL;
        return find_near(relative, is_readable);
}
