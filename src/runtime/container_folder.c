/* SPDX-License-Identifier: Apache-2.0 */
/* container_folder: folders of containers, below the state folder. */
#include "container_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "scope.h"
#include "str.h"

enum {
        HASH_LETTERS = 9, /* with the dash */
        ID_MOST = 200,
        YOUNG_S = 60, /* the runtime may not have noted the container yet */
};

static uint32_t hash_of(const char *text)
{
        uint32_t hash = 2166136261u;

        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 16777619u;
        return hash;
}

static int folder_name(const char *state, const char *root, const char *id,
                       char ret_folder[static PATH_MAX], struct err *e)
{
        if (!id || !*id || strchr(id, '/') || *id == '.' || strlen(id) > ID_MOST)
                return err_set(e, -EINVAL, "'%.60s' is no container's id", id ? id : "");
        if (snprintf(ret_folder, PATH_MAX, "%s/%08x-%s", state, hash_of(root), id) >= PATH_MAX)
                return err_set(e, -ENAMETOOLONG, "the state folder's name is too long");
        return 0;
}

/* All folders of the path; the last ones are ours, and only root has to look into them. */
static int folders_make(const char *path)
{
        char made[PATH_MAX];

        str_copy(made, sizeof made, path);
        for (char *slash = made; slash; *slash = '/') {
                slash = strchr(slash + 1, '/');
                if (slash)
                        *slash = '\0';
                if (mkdir(made, 0711) < 0 && errno != EEXIST)
                        return -errno;
                if (!slash)
                        break;
        }
        return 0;
}

int container_folder_make(const char *state, const char *root, const char *id,
                          char ret_folder[static PATH_MAX], struct err *e)
{
        char path[PATH_MAX + 16];
        int r = folder_name(state, root, id, ret_folder, e);

        if (r < 0)
                return r;
        container_folder_remove(ret_folder);
        r = folders_make(ret_folder);
        snprintf(path, sizeof path, "%s/mounts", ret_folder);
        if (r == 0 && mkdir(path, 0755) < 0)
                r = -errno;
        if (r == 0 && chmod(path, 0755) < 0) /* whatever the umask */
                r = -errno;
        snprintf(path, sizeof path, "%s/root", ret_folder);
        if (r == 0)
                r = file_replace(path, root, strlen(root), 0600);
        return r < 0 ? err_set(e, r, "cannot make '%.150s': %s", ret_folder, strerror(-r)) : 0;
}

bool container_folder_find(const char *state, const char *root, const char *id,
                           char ret_folder[static PATH_MAX])
{
        return folder_name(state, root, id, ret_folder, NULL) == 0 && access(ret_folder, F_OK) == 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
        (void)status, (void)kind, (void)where;
        (void)remove(path);
        return 0;
}

void container_folder_remove(const char *folder)
{
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* A runtime has a folder or a file for each of its containers. */
static bool is_known(const char *root, const char *id)
{
        static const char *const defaults[] = { "/run/runc", "/run/crun", NULL };
        const char *const own[] = { root, NULL };

        if (*root ? *root != '/' : geteuid() != 0)
                return true; /* we cannot tell */
        for (const char *const *at = *root ? own : defaults; *at; at++) {
                char path[PATH_MAX];

                snprintf(path, sizeof path, "%s/%s", *at, id);
                if (access(path, F_OK) == 0)
                        return true;
        }
        return false;
}

static void sweep_one(const char *state, const char *name)
{
        char folder[PATH_MAX], path[PATH_MAX + 8];
        autofree char *root = NULL;
        struct stat made;

        snprintf(folder, sizeof folder, "%s/%s", state, name);
        snprintf(path, sizeof path, "%s/root", folder);
        if (stat(folder, &made) < 0 || time(NULL) - made.st_mtime < YOUNG_S)
                return;
        if (file_read(path, &root) < 0 || !is_known(root, name + HASH_LETTERS))
                container_folder_remove(folder);
}

void container_folder_sweep(const char *state)
{
        DIR *directory = opendir(state);
        struct dirent *entry;

        while (directory && (entry = readdir(directory)))
                if (strlen(entry->d_name) > HASH_LETTERS && entry->d_name[HASH_LETTERS - 1] == '-')
                        sweep_one(state, entry->d_name);
        if (directory)
                closedir(directory);
}
