/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a share: made in an order that can be interrupted anywhere. */
#include "share_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container_paths.h"
#include "file.h"
#include "file_identity.h"
#include "region.h"
#include "share_decided.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static const char *const file_names[] = { "share", "region", "grant",  "want",
                                          "id",    "kept",   "decided" };
static const char *const region_names[] = { "region", "grant", "want", "id" }; /* of one boot */

static bool is_name(const char *text)
{
        const size_t length = strlen(text);

        return length > 0 && length < 64 && text[0] != '.' && strspn(text, NAME_LETTERS) == length;
}

static int folder_make(const char *path, struct err *e)
{
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return err_set(e, -errno, "cannot make the folder '%.150s': %s", path,
                               strerror(errno));
        return 0;
}

int share_folder_root(const char *state_folder, char ret_root[static SHARE_FOLDER_ROOT],
                      struct err *e)
{
        if (state_folder[0] != '/')
                return err_set(e, -EINVAL, "the state folder '%.100s' does not begin with '/'",
                               state_folder);
        if (snprintf(ret_root, SHARE_FOLDER_ROOT, "%s/shares", state_folder) >= SHARE_FOLDER_ROOT)
                return err_set(e, -ENAMETOOLONG, "the state folder '%.100s…' has too long a name",
                               state_folder);
        const int r = folder_make(state_folder, e);
        return r < 0 ? r : folder_make(ret_root, e);
}

int share_folder_path(const char *root, const char *pod_uid, const char *container,
                      char ret_path[static SHARE_TEXT], struct err *e)
{
        if (!is_name(pod_uid) || !is_name(container))
                return err_set(e, -EINVAL, "'%.40s/%.60s' names no container of a pod", pod_uid,
                               container);
        snprintf(ret_path, SHARE_TEXT, "%.111s/%.63s/%.63s/share", root, pod_uid, container);
        return 0;
}

void share_folder_beside(const char *path, const char *name, char ret_path[static SHARE_TEXT])
{
        const char *slash = strrchr(path, '/');

        snprintf(ret_path, SHARE_TEXT, "%.*s%s", (int)(slash - path + 1), path, name);
}

/* The folder of the container, or with `up` that of the pod. */
static void folder_of(const char *path, bool up, char ret_path[static SHARE_TEXT])
{
        snprintf(ret_path, SHARE_TEXT, "%s", path);
        for (int i = 0; i < 1 + up; i++)
                *strrchr(ret_path, '/') = '\0';
}

static void files_remove(const char *path)
{
        char file[SHARE_TEXT];

        for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++) {
                share_folder_beside(path, file_names[i], file);
                unlink(file);
        }
}

void share_folder_remove(const char *path)
{
        char folder[SHARE_TEXT];

        files_remove(path);
        folder_of(path, false, folder);
        rmdir(folder);
        folder_of(path, true, folder);
        rmdir(folder); /* the pod's, with its last container */
}

static int mode_set(const char *path, mode_t mode, struct err *e)
{
        return chmod(path, mode) < 0
                       ? err_set(e, -errno, "cannot change '%.150s': %s", path, strerror(errno))
                       : 0;
}

/* The container's processes write to these two, whoever they run as. */
static int pages_make(const char *path, const char *boot, const struct gpu_device *gpu_devices,
                      unsigned device_count, uint64_t *ret_inode, struct err *e)
{
        char region_path[SHARE_TEXT], grant[SHARE_TEXT], want[SHARE_TEXT];

        share_folder_beside(path, "region", region_path);
        share_folder_beside(path, "grant", grant);
        share_folder_beside(path, "want", want);
        int r = gpu_page_create(grant, want, boot, gpu_devices, device_count, e);
        if (r == 0)
                r = region_create(region_path, ret_inode, e);
        if (r < 0)
                return r;
        r = mode_set(region_path, 0666, e);
        if (r == 0)
                r = mode_set(want, 0666, e);
        return r < 0 ? r : mode_set(grant, 0644, e);
}

int share_folder_make(const char *path, struct share_copy *copy, const char *boot,
                      const struct gpu_device *gpu_devices, struct err *e)
{
        char folder[SHARE_TEXT];

        folder_of(path, true, folder);
        int r = folder_make(folder, e);
        folder_of(path, false, folder);
        if (r == 0)
                r = folder_make(folder, e);
        if (r < 0)
                return r;
        files_remove(path);
        snprintf(copy->region, sizeof copy->region, "%s", CONTAINER_REGION);
        r = pages_make(path, boot, gpu_devices, copy->device_count, &copy->region_inode, e);
        if (r == 0)
                r = share_decided_write(path, copy, e);
        if (r == 0)
                r = share_create(path, copy, e);
        if (r == 0)
                r = mode_set(path, 0644, e);
        if (r < 0)
                share_folder_remove(path);
        return r;
}

/* Is it of another boot, or not the one that the share names, because we were killed over making it
 * anew? Then the GPUs' sizes are read, for the next. */
static int pages_check(const char *path, const char *boot, uint64_t region_inode,
                       struct gpu_device *gpu_devices, bool *ret_is_old, struct err *e)
{
        struct gpu_grant_file *grants;
        struct file_identity region = { 0 };
        char grant[SHARE_TEXT], region_path[SHARE_TEXT];

        share_folder_beside(path, "grant", grant);
        share_folder_beside(path, "region", region_path);
        file_identity_at(region_path, &region);
        const int r = gpu_grant_map(grant, PROT_READ, &grants, e);
        if (r < 0)
                return r;
        *ret_is_old = region.inode != region_inode ||
                      strncmp(grants->machine, boot, sizeof grants->machine) != 0;
        const unsigned count = gpu_grant_count(grants);
        for (unsigned i = 0; *ret_is_old && i < count; i++)
                gpu_devices[i] = (struct gpu_device){ grants->devices[i].device_bytes,
                                                      grants->devices[i].swap_bytes_per_s };
        gpu_grant_unmap(grants);
        return 0;
}

/* The share stays, with a region that nobody has written to. */
static int pages_renew(const char *path, const char *boot, const struct gpu_device *gpu_devices,
                       struct share *share, struct err *e)
{
        struct share_copy copy;
        char file[SHARE_TEXT];

        memcpy(&copy, share_current(share), sizeof copy);
        for (size_t i = 0; i < sizeof region_names / sizeof *region_names; i++) {
                share_folder_beside(path, region_names[i], file);
                unlink(file);
        }
        const int r = pages_make(path, boot, gpu_devices, copy.device_count, &copy.region_inode, e);
        return r < 0 ? r : share_update(share, &copy, e);
}

static int identity_check(const char *path, const struct share_copy *copy, struct err *e)
{
        char root[SHARE_TEXT], expected[SHARE_TEXT] = "";

        folder_of(path, true, root);
        *strrchr(root, '/') = '\0';
        share_folder_path(root, copy->pod_uid, copy->container, expected, NULL);
        return strcmp(expected, path) == 0
                       ? 0
                       : err_set(e, -EBADMSG, "'%.100s' is the share of '%.60s' of pod %.40s", path,
                                 copy->container, copy->pod_uid);
}

int share_folder_open(const char *path, const char *boot, struct share *ret_share,
                      enum share_opened *ret_opened, struct err *e)
{
        struct gpu_device gpu_devices[SHARE_DEVICES] = { 0 };
        struct share share;
        bool is_old = false;
        int r = share_open(path, true, &share, e);

        if (r < 0)
                return r;
        const bool is_mended = share_mend(&share);
        r = identity_check(path, share_current(&share), e);
        if (r == 0)
                r = pages_check(path, boot, share_current(&share)->region_inode, gpu_devices,
                                &is_old, e);
        if (r == 0 && is_old)
                r = pages_renew(path, boot, gpu_devices, &share, e);
        if (r < 0) {
                share_close(&share);
                return r;
        }
        *ret_opened = is_old ? SHARE_RENEWED : is_mended ? SHARE_MENDED : SHARE_AS_IT_WAS;
        *ret_share = share;
        return 0;
}

/* A folder that is there, and cannot be read for the moment, is no empty one. */
static int pod_each(const char *root, const char *pod_uid,
                    void (*visit)(void *owner, const char *path), void *owner)
{
        char folder[SHARE_TEXT], path[SHARE_TEXT];
        struct dirent *entry;

        snprintf(folder, sizeof folder, "%.111s/%.63s", root, pod_uid);
        DIR *directory = opendir(folder);
        if (!directory)
                return file_error_passes(-errno) ? -errno : 0;
        while ((entry = readdir(directory)))
                if (share_folder_path(root, pod_uid, entry->d_name, path, NULL) == 0)
                        visit(owner, path);
        closedir(directory);
        return 0;
}

int share_folder_each(const char *root, void (*visit)(void *owner, const char *path), void *owner,
                      struct err *e)
{
        DIR *directory = opendir(root);
        struct dirent *entry;

        if (!directory)
                return err_set(e, -errno, "cannot read the folder '%.150s': %s", root,
                               strerror(errno));
        int r = 0;
        while (r == 0 && (entry = readdir(directory)))
                if (is_name(entry->d_name))
                        r = pod_each(root, entry->d_name, visit, owner);
        closedir(directory);
        return r < 0 ? err_set(e, r, "cannot read the folders in '%.150s': %s", root, strerror(-r))
                     : 0;
}
