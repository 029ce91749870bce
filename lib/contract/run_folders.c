/* SPDX-License-Identifier: Apache-2.0 */
/* Users' folders of shares: found, and opened. */
#include "run_folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scope.h"
#include "str.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

enum { ENTRIES_MOST = 1 << 16 }; /* of one folder that everybody may fill */

int run_folder_open_of(int above, const char *name, uid_t user)
{
        autoclose int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat status;

        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (status.st_uid != user || (status.st_mode & 022))
                return -EPERM;
        return steal_fd(fd);
}

/* Of the file alone: asking a directory service could keep us waiting. */
static void user_name_of(uid_t user, char ret_name[RUN_FOLDERS_USER])
{
        FILE *file = fopen("/etc/passwd", "re");
        char line[1024];
        struct passwd entry, *found = NULL;

        snprintf(ret_name, RUN_FOLDERS_USER, "%u", user);
        while (file && fgetpwent_r(file, &entry, line, sizeof line, &found) == 0)
                if (entry.pw_uid == user) {
                        str_copy(ret_name, RUN_FOLDERS_USER, entry.pw_name);
                        break;
                }
        if (file)
                fclose(file);
}

/* "1000/vgpu" in /run/user, "vgpu-1000" elsewhere: the user is in the name, in one way alone, and owns it. */
static int entry_open(int above, const char *name, uid_t *ret_user)
{
        const bool is_prefixed = str_starts_with(name, "vgpu-");
        char only[32];
        struct stat status;
        uint64_t user;

        if (str_parse_u64(name + (is_prefixed ? strlen("vgpu-") : 0), &user) < 0 ||
            user >= (uid_t)-1)
                return -ENOENT;
        snprintf(only, sizeof only, "%s%" PRIu64, is_prefixed ? "vgpu-" : "", user);
        if (strcmp(only, name) != 0)
                return -ENOENT;
        /* First without opening it: a user can make thousands in others' names. */
        if (fstatat(above, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || status.st_uid != (uid_t)user)
                return -EPERM;
        *ret_user = (uid_t)user;
        if (is_prefixed)
                return run_folder_open_of(above, name, (uid_t)user);
        autoclose int home = run_folder_open_of(above, name, (uid_t)user);
        return home < 0 ? home : run_folder_open_of(home, "vgpu", (uid_t)user);
}

static void root_walk(const char *root, void (*visit)(void *owner, const struct run_folder *folder),
                      void *owner)
{
        DIR *directory = *root == '/' ? opendir(root) : NULL;
        struct dirent *entry;

        for (unsigned i = 0; directory && i < ENTRIES_MOST && (entry = readdir(directory)); i++) {
                struct run_folder found = { 0 };
                autoclose int fd = entry_open(dirfd(directory), entry->d_name, &found.user);

                if (fd < 0)
                        continue;
                found.folder = fd;
                user_name_of(found.user, found.user_name);
                visit(owner, &found);
        }
        if (directory)
                closedir(directory);
}

void run_folders_each(void (*visit)(void *owner, const struct run_folder *folder), void *owner)
{
        const char *chosen = getenv(RUN_FOLDERS_VARIABLE);
        autofree char *roots = strdup(chosen && *chosen ? chosen : RUN_FOLDERS_DEFAULT);
        char *remaining = roots, *root;

        while (roots && (root = strsep(&remaining, ":")))
                root_walk(root, visit, owner);
}

/* As `vgpu run` names them; what is called otherwise is none. */
static bool name_is_right(const char *name)
{
        const size_t length = strlen(name);

        return length > 0 && length < sizeof((struct user_share *)0)->name &&
               strspn(name, NAME_LETTERS) == length && name[0] != '.' && name[0] != '-';
}

void run_folder_shares(const struct run_folder *folder,
                       void (*visit)(void *owner, const struct user_share *share), void *owner)
{
        const int fd = openat(folder->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *directory = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;

        for (unsigned i = 0; directory && i < RUN_FOLDERS_SHARES && (entry = readdir(directory));) {
                struct user_share share = { .user = folder->user, .root = folder->folder };

                if (!name_is_right(entry->d_name))
                        continue;
                i++;
                autoclose int own = run_folder_open_of(folder->folder, entry->d_name, folder->user);
                if (own < 0)
                        continue;
                share.folder = own;
                str_copy(share.name, sizeof share.name, entry->d_name);
                str_copy(share.user_name, sizeof share.user_name, folder->user_name);
                visit(owner, &share);
        }
        if (directory)
                closedir(directory);
        else if (fd >= 0)
                close(fd);
}

struct visiting {
        void (*visit)(void *owner, const struct user_share *share);
        void *owner;
};

static void on_folder(void *owner, const struct run_folder *folder)
{
        const struct visiting *visiting = owner;

        run_folder_shares(folder, visiting->visit, visiting->owner);
}

void user_shares_each(void (*visit)(void *owner, const struct user_share *share), void *owner)
{
        struct visiting visiting = { visit, owner };

        run_folders_each(on_folder, &visiting);
}
