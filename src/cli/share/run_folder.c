/* SPDX-License-Identifier: Apache-2.0 */
/* Where the shares of `vgpu run` live.
 *
 * Whoever makes, joins or removes a share holds the lock of the user's folder meanwhile; a process
 * of a share holds a shared lock on the share file for as long as it lives. */
#include "run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arbiter_process.h"
#include "paths.h"
#include "quantity.h"
#include "region_check.h"
#include "region_view.h"
#include "run_folders.h"
#include "scope.h"
#include "share_compute.h"
#include "share_memory.h"
#include "watcher.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

enum { ROOT_BYTES = 128 }; /* a name and a file fit behind it in a SHARE_TEXT */

int run_folder_check_name(const char *name, struct err *e)
{
        const size_t length = strlen(name);

        if (length == 0 || strspn(name, NAME_LETTERS) != length)
                return err_set(e, -EINVAL,
                               "invalid name '%.60s' (expected letters, digits, '.', '_' and '-')",
                               name);
        if (name[0] == '.' || name[0] == '-')
                return err_set(e, -EINVAL,
                               "a name must begin with a letter, a digit or '_', not '%c'",
                               name[0]);
        if (length >= sizeof((struct share_copy *)0)->name)
                return err_set(e, -EINVAL, "the name '%.20s…' is longer than 63 letters", name);
        return 0;
}

/* The user's folders, best first. XDG_RUNTIME_DIR is the user's own already. */
static size_t roots_list(char ret_roots[PATHS_FOLDERS][ROOT_BYTES])
{
        const char *folders[PATHS_FOLDERS];
        const size_t count = paths_run_folders(folders);
        size_t kept = 0;

        for (size_t i = 0; i < count; i++) {
                const bool is_own =
                        strcmp(folders[i], "/dev/shm") != 0 && strcmp(folders[i], "/tmp") != 0;
                const int length =
                        is_own ? snprintf(ret_roots[kept], ROOT_BYTES, "%s/vgpu", folders[i])
                               : snprintf(ret_roots[kept], ROOT_BYTES, "%s/vgpu-%u", folders[i],
                                          geteuid());

                kept += length < ROOT_BYTES;
        }
        return kept;
}

/* Opens the folder and takes its lock. Another user's is none of ours: /tmp is everybody's. */
static int root_lock(const char *root, bool is_to_be_made)
{
        for (;;) {
                struct stat held, named;

                if (is_to_be_made && mkdir(root, 0700) < 0 && errno != EEXIST)
                        return -errno;
                autoclose int fd = run_folder_open_of(AT_FDCWD, root, geteuid());
                if (fd == -ENOENT && is_to_be_made)
                        continue;
                if (fd < 0)
                        return fd;
                if (fstat(fd, &held) < 0 || flock(fd, LOCK_EX) < 0)
                        return -errno;
                /* Removed while we waited? */
                if (stat(root, &named) == 0 && named.st_ino == held.st_ino &&
                    named.st_dev == held.st_dev)
                        return steal_fd(fd);
        }
}

void run_folder_root(const char *path, char ret_root[SHARE_TEXT])
{
        char *slash;

        snprintf(ret_root, SHARE_TEXT, "%s", path);
        for (int i = 0; i < 2 && (slash = strrchr(ret_root, '/')); i++)
                *slash = '\0';
}

/* The file beside the share file. */
static void path_beside(const char *path, const char *name, char ret_path[SHARE_TEXT])
{
        const char *slash = strrchr(path, '/');

        snprintf(ret_path, SHARE_TEXT, "%.*s%s", slash ? (int)(slash - path) : 0, path, name);
}

void run_folder_name(const char *path, char ret_name[64])
{
        char root[SHARE_TEXT];

        run_folder_root(path, root);
        const char *name = path + strlen(root) + 1;
        snprintf(ret_name, 64, "%.*s", (int)strcspn(name, "/"), name);
}

static bool region_is_used(const char *region_path)
{
        struct region region;
        bool is_used = false;

        if (region_view_open(region_path, &region, NULL) < 0)
                return false;
        const uint32_t high = region_slots_high(&region);
        for (uint32_t i = 1; i <= high && !is_used; i++)
                is_used = region_slot_is_alive(&region, i);
        region_view_close(&region);
        return is_used;
}

static void pages_remove(const char *path, const char *region)
{
        char grant[SHARE_TEXT], want[SHARE_TEXT];

        gpu_page_grant_path(path, grant);
        gpu_page_want_path(region, want);
        unlink(grant);
        unlink(want);
}

/* Under the lock of the user's folder, which stays. */
static bool remove_locked(const char *path)
{
        char region[SHARE_TEXT], folder[SHARE_TEXT];
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        path_beside(path, "/region", region);
        path_beside(path, "", folder);
        if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) < 0 || region_is_used(region)))
                return false;
        pages_remove(path, region);
        unlink(region);
        unlink(path);
        rmdir(folder);
        arbiter_process_ring(path);
        return true;
}

/* With the last share goes the arbiter's lock; the folder stays while there are shares. */
static void root_remove(const char *root)
{
        char lock[SHARE_TEXT];
        struct vec paths = VEC_OF(char[SHARE_TEXT]);

        run_folder_read(root, &paths);
        if (paths.count == 0) {
                arbiter_process_lock_path(root, lock);
                unlink(lock);
                rmdir(root);
        }
        vec_done(&paths);
}

bool run_folder_remove(const char *path)
{
        char root[SHARE_TEXT];

        run_folder_root(path, root);
        autoclose int lock = root_lock(root, false);
        if (lock < 0)
                return lock == -ENOENT;
        if (!remove_locked(path))
                return false;
        root_remove(root);
        return true;
}

int run_folder_region(const char *path, struct region *ret_region, struct err *e)
{
        char region[SHARE_TEXT];
        struct err why = { 0 };

        path_beside(path, "/region", region);
        const int r = region_view_open(region, ret_region, &why);
        if (r < 0 && r != -ENOENT)
                err_set(e, r, "%s", why.text);
        return r;
}

/* Whoever could write to it could name files here that are not the user's. */
void run_folder_read(const char *root, struct vec *ret_paths)
{
        const int fd = run_folder_open_of(AT_FDCWD, root, geteuid());
        DIR *directory = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;

        if (!directory && fd >= 0)
                close(fd);
        while (directory && (entry = readdir(directory))) {
                char path[SHARE_TEXT] = "";

                if (run_folder_check_name(entry->d_name, NULL) < 0)
                        continue;
                snprintf(path, sizeof path, "%.127s/%.63s/share", root, entry->d_name);
                vec_push(ret_paths, path);
        }
        if (directory)
                closedir(directory);
}

static void list_root(const char *root, struct vec *paths)
{
        struct vec found = VEC_OF(char[SHARE_TEXT]);

        run_folder_read(root, &found);
        for (size_t i = 0; i < found.count; i++)
                if (!run_folder_remove(vec_at(&found, i)))
                        vec_push(paths, vec_at(&found, i));
        vec_done(&found);
}

void run_folder_list(struct vec *ret_paths)
{
        char roots[PATHS_FOLDERS][ROOT_BYTES];
        const size_t count = roots_list(roots);

        for (size_t i = 0; i < count; i++)
                list_root(roots[i], ret_paths);
}

bool run_folder_find(const char *name, char ret_path[SHARE_TEXT])
{
        char roots[PATHS_FOLDERS][ROOT_BYTES];
        const size_t count = run_folder_check_name(name, NULL) < 0 ? 0 : roots_list(roots);

        for (size_t i = 0; i < count; i++) {
                char path[SHARE_TEXT];

                snprintf(path, sizeof path, "%.127s/%.63s/share", roots[i], name);
                autoclose int root = run_folder_open_of(AT_FDCWD, roots[i], geteuid());
                if (root >= 0 && access(path, F_OK) == 0 && !run_folder_remove(path)) {
                        memcpy(ret_path, path, SHARE_TEXT);
                        return true;
                }
        }
        return false;
}

int run_folder_open(const char *path, struct share *ret_share, int *ret_lock, struct err *e)
{
        char root[SHARE_TEXT];

        run_folder_root(path, root);
        autoclose int lock = root_lock(root, false);
        if (lock < 0)
                return err_set(e, lock, "cannot open the folder of the shares '%s': %s", root,
                               strerror(-lock));
        const int r = share_open(path, true, ret_share, e);
        if (r == 0)
                *ret_lock = steal_fd(lock);
        return r;
}

static int join_check(const struct share_copy *have, const struct share_copy *wanted, struct err *e)
{
        char limit[QUANTITY_TEXT_BYTES];

        for (unsigned i = 0; i < wanted->device_count; i++)
                if (share_find_device(have, wanted->devices[i].uuid) < 0)
                        return err_set(e, -EEXIST,
                                       "share '%s' is in use on other GPUs; take another --name",
                                       wanted->name);
        if (wanted->device_count == 0 || have->device_count == 0)
                return 0;
        const struct share_device *a = &have->devices[0], *b = &wanted->devices[0];
        if (b->cores_percent && (a->cores_percent != b->cores_percent ||
                                 a->cores_max_percent != b->cores_max_percent)) {
                char cores[SHARE_COMPUTE_TEXT];

                share_compute_text(a->cores_percent, share_cap_percent(a), cores);
                return err_set(e, -EEXIST,
                               "share '%s' is in use with %s of each GPU's time; give the same, or "
                               "change it with 'vgpu set %s --cores PERCENT'",
                               wanted->name, cores, wanted->name);
        }
        if (b->cores_percent && (a->flags ^ b->flags) & SHARE_COPIES_COUNT)
                return err_set(e, -EEXIST,
                               "share '%s' is in use with --copies=%s; give the same, or change it "
                               "with 'vgpu set %s --copies'",
                               wanted->name, a->flags & SHARE_COPIES_COUNT ? "count" : "exempt",
                               wanted->name);
        if (b->limit_bytes == SHARE_UNLIMITED)
                return 0; /* whatever it has */
        quantity_format_bytes(a->limit_bytes, limit);
        if (a->limit_bytes != b->limit_bytes)
                return err_set(e, -EEXIST,
                               "share '%s' is in use with --memory %s; give the same, or change it "
                               "with 'vgpu set %s --memory SIZE'",
                               wanted->name, limit, wanted->name);
        if (a->physical_bytes != b->physical_bytes)
                return err_set(e, -EEXIST,
                               "share '%s' is in use with --memory-ratio %.4g; give the same, or "
                               "change it with 'vgpu set %s --memory-ratio R'",
                               wanted->name, share_memory_ratio_of(a), wanted->name);
        if ((a->flags ^ b->flags) & SHARE_OVERSOLD || a->host_bytes != b->host_bytes)
                return err_set(e, -EEXIST,
                               "share '%s' is in use %s; give the same, or change it with 'vgpu "
                               "set %s'",
                               wanted->name,
                               a->flags & SHARE_OVERSOLD ? "oversold" : "without --oversold",
                               wanted->name);
        if ((a->flags ^ b->flags) & SHARE_CONTEXT_EXEMPT)
                return err_set(e, -EEXIST,
                               "share '%s' is in use with --context-memory=%s; give the same",
                               wanted->name, a->flags & SHARE_CONTEXT_EXEMPT ? "exempt" : "count");
        return 0;
}

static int share_join(const char *path, const struct share_copy *wanted, struct err *e)
{
        struct share share;
        int r = share_open(path, false, &share, e);

        if (r < 0)
                return r;
        r = join_check(share_current(&share), wanted, e);
        share_close(&share);
        return r;
}

bool run_folder_limits(const struct share_copy *wanted)
{
        return wanted->device_count == 0 || wanted->devices[0].limit_bytes != SHARE_UNLIMITED ||
               share_cap_percent(&wanted->devices[0]);
}

static int share_make(const char *path, const struct share_copy *wanted,
                      const struct gpu_list *gpus, struct err *e)
{
        char folder[SHARE_TEXT], grant[SHARE_TEXT], want[SHARE_TEXT];
        struct share_copy copy;

        if (!run_folder_limits(wanted))
                return err_set(e, -ENOENT,
                               "there is no share '%s' to join; --memory SIZE, or --cores PERCENT "
                               "above 0, makes one",
                               wanted->name);
        memcpy(&copy, wanted, sizeof copy);
        path_beside(path, "/region", copy.region);
        path_beside(path, "", folder);
        if (mkdir(folder, 0700) < 0 && errno != EEXIST)
                return err_set(e, -errno, "cannot make the folder '%s': %s", folder,
                               strerror(errno));
        /* Before the share: whoever sees one finds its pages. */
        gpu_page_grant_path(path, grant);
        gpu_page_want_path(copy.region, want);
        int r = gpu_page_create(grant, want, gpus->machine, gpus->devices, gpus->count, e);
        unlink(copy.region); /* of a maker that was killed */
        if (r == 0) /* with the share, which names it: one that a tenant makes instead is refused */
                r = region_create(copy.region, &copy.region_inode, e);
        return r < 0 ? r : share_create(path, &copy, e);
}

/* Under the lock of the folder at `root`. */
static int take_in(const char *root, const struct share_copy *wanted, const struct gpu_list *gpus,
                   char *path, struct err *e)
{
        snprintf(path, SHARE_TEXT, "%.127s/%.63s/share", root, wanted->name);
        const bool is_there = access(path, F_OK) == 0 && !remove_locked(path);
        int r = is_there ? share_join(path, wanted, e) : share_make(path, wanted, gpus, e);
        if (r == 0) {
                r = watcher_lock(path);
                if (r < 0)
                        err_set(e, r, "cannot lock share '%s': %s", path, strerror(-r));
        }
        if (r >= 0) {
                arbiter_process_ring(path);
                return 0;
        }
        if (!is_there && remove_locked(path))
                root_remove(root);
        return r;
}

int run_folder_take(const struct share_copy *wanted, const struct gpu_list *gpus,
                    char ret_path[SHARE_TEXT], struct err *e)
{
        char roots[PATHS_FOLDERS][ROOT_BYTES], found[SHARE_TEXT], root[SHARE_TEXT];
        const size_t count = roots_list(roots);
        const bool is_known = run_folder_find(wanted->name, found);
        int r = err_set(e, -EACCES,
                        "no folder for the share: neither XDG_RUNTIME_DIR nor /dev/shm nor /tmp "
                        "can be written");

        if (is_known)
                run_folder_root(found, root);
        for (size_t i = 0; i < count; i++) {
                const char *folder = is_known ? root : roots[i];
                autoclose int lock = root_lock(folder, true);

                if (lock >= 0)
                        return take_in(folder, wanted, gpus, ret_path, e);
                r = err_set(e, lock, "cannot use the folder '%s' for shares: %s", folder,
                            strerror(-lock));
        }
        return r;
}

int run_folder_check(const struct share_copy *copy, const struct region *region, struct err *e)
{
        const enum region_fault fault = region_check_all(region, UINT64_MAX);

        if (fault == REGION_INTACT)
                return 0;
        return err_set(e, -EUCLEAN, "region '%s' %s; its programs get no more memory", copy->region,
                       region_fault_text(fault));
}
