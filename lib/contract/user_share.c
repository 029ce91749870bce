/* SPDX-License-Identifier: Apache-2.0 */
/* One share in a user's folder: read, changed, asked whether somebody has it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard.h"
#include "region_view.h"
#include "run_folders.h"
#include "scope.h"
#include "str.h"

enum { SLOTS_MOST = 512 }; /* of a region that are read: its user can make them many */

void user_share_path(const struct user_share *share, const char *file, char ret_path[SHARE_TEXT])
{
        snprintf(ret_path, SHARE_TEXT, "/proc/self/fd/%d/%s", share->folder, file);
}

static int file_open(const struct user_share *share, int flags, struct err *e)
{
        autoclose int fd = openat(share->folder, "share",
                                  flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat status;

        if (fd < 0 || fstat(fd, &status) < 0)
                return err_set(e, -errno, "cannot open share '%s' of %s: %s", share->name,
                               share->user_name, strerror(errno));
        if (!S_ISREG(status.st_mode) || status.st_uid != share->user ||
            status.st_size != (off_t)sizeof(struct share_file))
                return err_set(e, -EPROTO, "'%s' of %s is not a share", share->name,
                               share->user_name);
        return steal_fd(fd);
}

static void text_clean(char *text, size_t size)
{
        text[size - 1] = '\0';
        for (; *text; text++)
                if (*text < ' ' || *text > '~')
                        *text = '?';
}

static void copy_clean(const struct user_share *share, struct share_copy *copy)
{
        str_copy(copy->name, sizeof copy->name, share->name);
        memset(copy->pod_uid, 0, sizeof copy->pod_uid);
        memset(copy->pod_namespace, 0, sizeof copy->pod_namespace);
        memset(copy->pod_name, 0, sizeof copy->pod_name);
        text_clean(copy->container, sizeof copy->container);
        user_share_path(share, "region", copy->region);
        for (unsigned i = 0; i < copy->device_count; i++)
                text_clean(copy->devices[i].uuid, sizeof copy->devices[i].uuid);
}

int user_share_read(const struct user_share *share, struct share_copy *ret_copy, struct err *e)
{
        autoclose int fd = file_open(share, O_RDONLY, e);
        autofree struct share_file *file = malloc(sizeof *file);

        if (fd < 0)
                return fd;
        if (!file)
                return err_set(e, -ENOMEM, "out of memory");
        /* Read, not mapped: what is checked is what is used. */
        if (pread(fd, file, sizeof *file, 0) != (ssize_t)sizeof *file ||
            atomic_load(&file->magic) != SHARE_MAGIC || file->version != SHARE_VERSION)
                return err_set(e, -EPROTO, "'%s' of %s is not a share of this release", share->name,
                               share->user_name);
        struct share_copy *copy = &file->copies[atomic_load(&file->index) & 1];
        const int r = share_check(copy, e);
        if (r < 0)
                return r;
        copy_clean(share, copy);
        memcpy((void *)ret_copy, copy, sizeof *ret_copy);
        return 0;
}

/* The user's own texts stay as they are: devices alone are put into the copy that is there. */
static int mapped_change(struct share_file *file, const struct share_copy *content, struct err *e)
{
        struct share share = { .file = file, .is_writable = true };
        autofree struct share_copy *copy = malloc(sizeof *copy);

        if (!copy)
                return err_set(e, -ENOMEM, "out of memory");
        memcpy((void *)copy, share_current(&share), sizeof *copy);
        bool is_same = share_check(copy, NULL) == 0 && copy->device_count == content->device_count;
        for (unsigned i = 0; is_same && i < content->device_count; i++)
                is_same = strcmp(copy->devices[i].uuid, content->devices[i].uuid) == 0;
        if (!is_same)
                return err_set(e, -EINVAL, "the GPUs of a share cannot change");
        memcpy((void *)copy->devices, (const void *)content->devices, sizeof copy->devices);
        return share_update(&share, copy, e);
}

int user_share_change(const struct user_share *share, const struct share_copy *content,
                      struct err *e)
{
        autoclose int fd = file_open(share, O_RDWR, e);

        if (fd < 0)
                return fd;
        /* A descriptor of our own: the lock is this call's. Never waited for, its holder may be asleep. */
        autoclose int lock = openat(share->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
                return err_set(e, -EAGAIN, "the shares of %s are being changed; try again",
                               share->user_name);
        void *file =
                mmap(NULL, sizeof(struct share_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map share '%s': %s", share->name,
                               strerror(errno));
        int r = guard_add(file, sizeof(struct share_file));
        if (r == 0)
                r = mapped_change(file, content, e);
        else
                err_set(e, r, "too many files are open for reading");
        guard_remove(file);
        munmap(file, sizeof(struct share_file));
        return r;
}

static bool region_is_used(const struct user_share *share)
{
        struct region region;
        char path[SHARE_TEXT];
        bool is_used = false;

        user_share_path(share, "region", path);
        if (region_view_open(path, &region, NULL) < 0)
                return false;
        const uint32_t high = region_slots_high(&region);
        for (uint32_t i = 1; i <= high && i <= SLOTS_MOST && !is_used; i++)
                is_used = region_slot_is_alive(&region, i);
        region_view_close(&region);
        return is_used;
}

/* Whoever makes or joins a share has the lock of the folder meanwhile: with it, we disturb nobody. */
bool user_share_is_used(const struct user_share *share)
{
        autoclose int lock = openat(share->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        autoclose int fd = file_open(share, O_RDONLY, NULL);

        if (fd < 0)
                return false;
        if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return true;
        return region_is_used(share);
}
