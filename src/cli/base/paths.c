/* SPDX-License-Identifier: Apache-2.0 */
/* The folders for what `vgpu run` makes, and what lies next to this program. */
#include "paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nearby.h"

/* `su` and `sudo -E` keep another user's XDG_RUNTIME_DIR: what root makes there, that user could replace. Of
 * a folder for everybody, each has its own part. */
static bool is_ours(const char *folder)
{
        struct stat st;

        return stat(folder, &st) == 0 &&
               (st.st_uid == geteuid() || st.st_uid == 0 || (st.st_mode & S_ISVTX));
}

size_t paths_run_folders(const char *ret_folders[PATHS_FOLDERS])
{
        const char *const candidates[PATHS_FOLDERS] = { getenv("XDG_RUNTIME_DIR"), "/dev/shm",
                                                        "/tmp" };
        size_t count = 0;

        for (size_t i = 0; i < PATHS_FOLDERS; i++)
                if (candidates[i] && candidates[i][0] == '/' && is_ours(candidates[i]) &&
                    access(candidates[i], W_OK | X_OK) == 0)
                        ret_folders[count++] = candidates[i];
        return count;
}

char *paths_beside(const char *program)
{
        return nearby_program(program);
}

char *paths_sim_library(struct err *e)
{
        return nearby_choose(NEARBY_SIM_DRIVER, getenv("VGPU_SIM_LIB"), e);
}

char *paths_preload_library(struct err *e)
{
        return nearby_choose(NEARBY_PRELOAD, getenv("VGPU_LIB"), e);
}
