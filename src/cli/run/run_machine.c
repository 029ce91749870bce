/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of `vgpu run --sim`: they vanish with the last process that uses them; see watcher.h. A
 * watcher that was killed leaves an unlocked file: the next run removes it. A file that is being made
 * has another name. */
#include "run_machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "machine_option.h"
#include "paths.h"
#include "scope.h"
#include "watcher.h"

#define PREFIX "vgpu-run-"
#define MADE   ".machine"
#define MAKING ".making"

enum { MAKING_SECONDS = 60 }; /* nobody takes that long to make a machine */

static bool has_suffix(const char *name, const char *suffix)
{
        const size_t length = strlen(name), suffix_length = strlen(suffix);

        return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

/* True when no process uses the machine. A file that is no machine has no users. */
static bool is_unused(const char *path)
{
        struct machine machine;
        unsigned users;

        if (machine_open(path, &machine, NULL) < 0)
                return true;
        users = machine_option_users(&machine);
        machine_close(&machine);
        return users == 0;
}

bool run_machine_remove(const char *path)
{
        if (!is_unused(path))
                return false;
        unlink(path);
        return true;
}

static void remove_if_stale(const char *path, bool is_made)
{
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
                return;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return;
        if (is_made ? is_unused(path) : time(NULL) - st.st_ctime > MAKING_SECONDS)
                unlink(path);
}

static void remove_stale(const char *folder)
{
        DIR *directory = opendir(folder);
        struct dirent *entry;

        if (!directory)
                return;
        while ((entry = readdir(directory))) {
                char path[RUN_MACHINE_PATH_BYTES];
                const bool is_made = has_suffix(entry->d_name, MADE);

                if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
                    (!is_made && !has_suffix(entry->d_name, MAKING)))
                        continue;
                snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
                remove_if_stale(path, is_made);
        }
        closedir(directory);
}

static int create_in(const char *folder, const struct machine_spec *spec, char *ret_path,
                     struct err *e)
{
        char making[RUN_MACHINE_PATH_BYTES];
        uint64_t number = 0;
        int r;

        if (getrandom(&number, sizeof number, 0) < 0)
                number = (uint64_t)getpid();
        if (snprintf(ret_path, RUN_MACHINE_PATH_BYTES, "%s/" PREFIX "%016llx" MADE, folder,
                     (unsigned long long)number) >= RUN_MACHINE_PATH_BYTES)
                return err_set(e, -ENAMETOOLONG, "the folder '%.60s…' is too long a name", folder);
        snprintf(making, sizeof making, "%.3000s/" PREFIX "%016llx" MAKING, folder,
                 (unsigned long long)number);
        r = machine_create(making, spec, e);
        if (r < 0)
                return r;
        r = watcher_lock(making);
        if (r >= 0 && rename(making, ret_path) == 0)
                return 0;
        r = r < 0 ? r : -errno;
        unlink(making);
        return err_set(e, r, "cannot make machine '%s': %s", ret_path, strerror(-r));
}

int run_machine_create(const struct machine_spec *spec, char ret_path[RUN_MACHINE_PATH_BYTES],
                       struct err *e)
{
        const char *folders[PATHS_FOLDERS];
        const size_t count = paths_run_folders(folders);
        int r = err_set(e, -EACCES,
                        "no folder for the machine: neither XDG_RUNTIME_DIR nor "
                        "/dev/shm nor /tmp can be written");

        for (size_t i = 0; i < count; i++)
                remove_stale(folders[i]);
        for (size_t i = 0; i < count && r < 0; i++)
                r = create_in(folders[i], spec, ret_path, e);
        return r;
}
