/* Where machines of `vgpu run --sim` live, and where the simulated libraries are. */
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

char *places_sim_library(void)
{
        /* The build tree, then installed layouts (lib, and Debian's lib/TRIPLET). */
        static const char *const relative[] = { "../lib/sim", "../lib/vgpu/sim",
                                                "../" VGPU_LIBDIR "/vgpu/sim" };
        const char *chosen = getenv("VGPU_SIM_LIB");
        char self[PATH_MAX], path[PATH_MAX + 64];
        ssize_t length;

        if (chosen && *chosen)
                return has_library(chosen) ? realpath(chosen, NULL) : NULL;
        length = readlink("/proc/self/exe", self, sizeof self - 1);
        if (length <= 0)
                return NULL;
        self[length] = '\0';
        dirname(self);
        for (size_t i = 0; i < sizeof relative / sizeof relative[0]; i++) {
                snprintf(path, sizeof path, "%s/%s", self, relative[i]);
                if (has_library(path))
                        return realpath(path, NULL);
        }
        return NULL;
}
