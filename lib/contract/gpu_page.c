/* SPDX-License-Identifier: Apache-2.0 */
/* GPU pages: make and map the files. */
#include "gpu_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file_allocate.h"
#include "scope.h"

static void path_beside(const char *path, const char *name, char ret_path[SHARE_TEXT])
{
        const char *slash = strrchr(path, '/');

        snprintf(ret_path, SHARE_TEXT, "%.*s/%s", slash ? (int)(slash - path) : 1,
                 slash ? path : ".", name);
}

void gpu_page_grant_path(const char *share_path, char ret_path[SHARE_TEXT])
{
        path_beside(share_path, "grant", ret_path);
}

void gpu_page_want_path(const char *region_path, char ret_path[SHARE_TEXT])
{
        path_beside(region_path, "want", ret_path);
}

static void *file_map(int fd, size_t bytes, int protection)
{
        void *file = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);

        if (file == MAP_FAILED)
                return NULL;
        /* A page for each device, of which few are used: who touches one has no need of the others, and
         * an arbiter has these files of all containers. */
        madvise(file, bytes, MADV_RANDOM);
        return file;
}

/* A new file of this size, mapped, the first pages with blocks on the disk. -EEXIST: there is one. */
static int file_make(const char *path, size_t bytes, unsigned pages, void **ret_file)
{
        autoclose int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        if (fd < 0)
                return -errno;
        int r = file_allocate(fd, 0, (uint64_t)pages * GPU_PAGE_BYTES);
        if (r == 0)
                r = file_extend(fd, bytes);
        void *file = r < 0 ? NULL : file_map(fd, bytes, PROT_READ | PROT_WRITE);
        if (r == 0 && !file)
                r = -errno;
        if (r < 0)
                unlink(path);
        else
                *ret_file = file;
        return r;
}

/* Free until an arbiter says otherwise: nobody waits for one that never comes. */
static int grant_create(const char *path, const char *machine, const struct gpu_device *devices,
                        unsigned device_count)
{
        struct gpu_grant_file *file;
        const int r = file_make(path, sizeof *file, 1 + device_count, (void **)&file);

        if (r < 0)
                return r == -EEXIST ? 0 : r;
        file->version = GPU_PAGE_VERSION;
        file->device_count = device_count;
        snprintf(file->machine, sizeof file->machine, "%s", machine);
        for (unsigned i = 0; i < device_count; i++) {
                atomic_store(&file->devices[i].timeslice, GPU_FREE);
                atomic_store(&file->devices[i].deadline_ns, GPU_NO_DEADLINE);
                file->devices[i].device_bytes = devices[i].memory_bytes;
                file->devices[i].swap_bytes_per_s = devices[i].swap_bytes_per_s;
        }
        atomic_store(&file->magic, GPU_GRANT_MAGIC);
        gpu_grant_unmap(file);
        return 0;
}

static int want_create(const char *path, unsigned device_count)
{
        struct gpu_want_file *file;
        const int r = file_make(path, sizeof *file, 1 + device_count, (void **)&file);

        if (r < 0)
                return r == -EEXIST ? 0 : r;
        file->version = GPU_PAGE_VERSION;
        file->device_count = device_count;
        atomic_store(&file->magic, GPU_WANT_MAGIC);
        gpu_want_unmap(file);
        return 0;
}

int gpu_page_create(const char *grant_path, const char *want_path, const char *machine,
                    const struct gpu_device *devices, unsigned device_count, struct err *e)
{
        if (device_count > SHARE_DEVICES)
                return err_set(e, -EINVAL, "%u devices: a share has at most %d", device_count,
                               SHARE_DEVICES);
        int r = grant_create(grant_path, machine, devices, device_count);
        if (r < 0)
                return err_set(e, r, "cannot make '%s': %s", grant_path, strerror(-r));
        r = want_create(want_path, device_count);
        if (r < 0) {
                unlink(grant_path);
                return err_set(e, r, "cannot make '%s': %s", want_path, strerror(-r));
        }
        return 0;
}

/* Both files begin with {magic, version, device_count}. */
struct page_head {
        _Atomic uint64_t magic;
        uint32_t version, device_count;
};

static int head_check(const struct page_head *head, const char *path, uint64_t magic, struct err *e)
{
        const uint32_t version = __atomic_load_n(&head->version, __ATOMIC_RELAXED);
        const uint32_t count = __atomic_load_n(&head->device_count, __ATOMIC_RELAXED);

        if (atomic_load(&head->magic) != magic)
                return err_set(e, -EPROTO, "'%s' holds no GPU pages", path);
        if (version != GPU_PAGE_VERSION)
                return err_set(e, -EPROTO, "'%s' has version %u, this release reads %u", path,
                               version, GPU_PAGE_VERSION);
        if (count > SHARE_DEVICES)
                return err_set(e, -EPROTO, "'%s' has pages for %u devices: a share has at most %d",
                               path, count, SHARE_DEVICES);
        return 0;
}

/* The count was right when the file was opened; who may write to it may have changed it since. */
static unsigned count_of(const uint32_t *device_count)
{
        const uint32_t count = __atomic_load_n(device_count, __ATOMIC_RELAXED);

        return count < SHARE_DEVICES ? count : SHARE_DEVICES;
}

unsigned gpu_grant_count(const struct gpu_grant_file *file)
{
        return count_of(&file->device_count);
}

unsigned gpu_want_count(const struct gpu_want_file *file)
{
        return count_of(&file->device_count);
}

static int file_open(const char *path, size_t bytes, int protection, uint64_t magic,
                     void **ret_file, struct err *e)
{
        const bool is_writable = protection & PROT_WRITE;
        autoclose int fd =
                open(path, (is_writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        const off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

        if (size < 0)
                return err_set(e, -errno, "cannot open '%s': %s", path, strerror(errno));
        /* A file that is cut short would end whoever reads beyond: the tenant's own want file does. */
        if ((uint64_t)size < bytes)
                return err_set(e, -EPROTO, "'%s' is too short for GPU pages", path);
        void *file = file_map(fd, bytes, protection);
        if (!file)
                return err_set(e, -errno, "cannot map '%s': %s", path, strerror(errno));
        int r = head_check(file, path, magic, e);
        if (r < 0) {
                munmap(file, bytes);
                return r;
        }
        *ret_file = file;
        return 0;
}

int gpu_grant_map(const char *path, int protection, struct gpu_grant_file **ret_file, struct err *e)
{
        return file_open(path, sizeof **ret_file, protection, GPU_GRANT_MAGIC, (void **)ret_file,
                         e);
}

int gpu_want_map(const char *path, struct gpu_want_file **ret_file, struct err *e)
{
        return file_open(path, sizeof **ret_file, PROT_READ | PROT_WRITE, GPU_WANT_MAGIC,
                         (void **)ret_file, e);
}

void gpu_grant_unmap(struct gpu_grant_file *file)
{
        if (file)
                munmap(file, sizeof *file);
}

void gpu_want_unmap(struct gpu_want_file *file)
{
        if (file)
                munmap(file, sizeof *file);
}
