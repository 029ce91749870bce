/* SPDX-License-Identifier: Apache-2.0 */
/* The share file. */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file_allocate.h"
#include "scope.h"

/* FNV-1a: told from damage, not from malice; the file is read-only to those who would. */
static uint32_t copy_checksum(const struct share_copy *copy)
{
        const unsigned char *bytes = (const unsigned char *)copy;
        uint32_t hash = 2166136261u;

        for (size_t i = 0; i < sizeof *copy; i++) {
                bool is_own = i >= offsetof(struct share_copy, checksum) &&
                              i < offsetof(struct share_copy, checksum) + sizeof copy->checksum;
                hash = (hash ^ (is_own ? 0 : bytes[i])) * 16777619u;
        }
        return hash;
}

static bool text_ends(const char *text, size_t size)
{
        return memchr(text, '\0', size) != NULL;
}

static int device_check(const struct share_device *device, unsigned index, struct err *e)
{
        if (!text_ends(device->uuid, sizeof device->uuid) || !device->uuid[0])
                return err_set(e, -EPROTO, "device %u has no UUID", index);
        uint64_t limit = atomic_load_explicit(&device->limit_bytes, memory_order_relaxed);
        if (device->physical_bytes > limit)
                return err_set(e, -EPROTO, "device %u: physical part above the limit", index);
        if (device->limit_max_bytes && limit != SHARE_UNLIMITED && limit > device->limit_max_bytes)
                return err_set(e, -EPROTO, "device %u: limit above its ceiling", index);
        if (device->cores_percent > 100 || device->cores_max_percent > 100)
                return err_set(e, -EPROTO, "device %u: cores above 100 percent", index);
        if (device->cores_max_percent && device->cores_max_percent < device->cores_percent)
                return err_set(e, -EPROTO, "device %u: cores-max below cores", index);
        if (device->policy >= SHARE_POLICIES)
                return err_set(e, -EPROTO, "device %u: unknown policy %u", index, device->policy);
        return 0;
}

unsigned share_device_count(const struct share_copy *copy)
{
        const uint32_t count = __atomic_load_n(&copy->device_count, __ATOMIC_RELAXED);

        return count < SHARE_DEVICES ? count : SHARE_DEVICES;
}

int share_check(const struct share_copy *copy, struct err *e)
{
        const uint32_t count = __atomic_load_n(&copy->device_count, __ATOMIC_RELAXED);

        if (count > SHARE_DEVICES)
                return err_set(e, -EPROTO, "%u devices: a share has at most %d", count,
                               SHARE_DEVICES);
        if (!text_ends(copy->name, sizeof copy->name) ||
            !text_ends(copy->pod_uid, sizeof copy->pod_uid) ||
            !text_ends(copy->pod_namespace, sizeof copy->pod_namespace) ||
            !text_ends(copy->pod_name, sizeof copy->pod_name) ||
            !text_ends(copy->container, sizeof copy->container) ||
            !text_ends(copy->region, sizeof copy->region))
                return err_set(e, -EPROTO, "a string in the share is not terminated");
        for (unsigned i = 0; i < count; i++) {
                int r = device_check(&copy->devices[i], i, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int file_fill(int fd, const char *path, const struct share_copy *content, struct err *e)
{
        const int r = file_allocate(fd, 0, sizeof(struct share_file));

        if (r < 0)
                return err_set(e, r, "cannot make share '%s': %s", path, strerror(-r));
        struct share_file *file =
                mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map share '%s': %s", path, strerror(errno));
        file->version = SHARE_VERSION;
        memcpy((void *)&file->copies[0], content, sizeof *content);
        file->copies[0].generation = 1;
        file->copies[0].checksum = copy_checksum(&file->copies[0]);
        atomic_store(&file->limits_compute, share_limits_compute(content));
        atomic_store(&file->magic, SHARE_MAGIC);
        munmap(file, sizeof *file);
        return 0;
}

int share_create(const char *path, const struct share_copy *content, struct err *e)
{
        int r = share_check(content, e);
        if (r < 0)
                return r;

        autoclose int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0)
                return err_set(e, -errno, "cannot make share '%s': %s", path, strerror(errno));
        r = file_fill(fd, path, content, e);
        if (r < 0)
                unlink(path);
        return r;
}

static int file_check(const struct share_file *file, const char *path, struct err *e)
{
        if (atomic_load(&file->magic) != SHARE_MAGIC)
                return err_set(e, -EPROTO, "'%s' is not a share file", path);
        if (file->version != SHARE_VERSION)
                return err_set(e, -EPROTO, "share '%s' has version %u, this release reads %u", path,
                               file->version, SHARE_VERSION);
        uint32_t index = atomic_load(&file->index);
        if (index > 1 || file->copies[index].checksum != copy_checksum(&file->copies[index]))
                return err_set(e, -EPROTO, "share '%s' is damaged", path);
        int r = share_check(&file->copies[index], e);
        return r < 0 ? err_context(e, r, path) : 0;
}

int share_open(const char *path, bool is_writable, struct share *ret_share, struct err *e)
{
        autoclose int fd =
                open(path, (is_writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd < 0)
                return err_set(e, -errno, "cannot open share '%s': %s", path, strerror(errno));
        /* fstat() would need a newer C library than a container may have. */
        if (lseek(fd, 0, SEEK_END) != (off_t)sizeof(struct share_file))
                return err_set(e, -EPROTO, "'%s' is not a share file", path);
        struct share_file *file =
                mmap(NULL, sizeof *file, is_writable ? PROT_READ | PROT_WRITE : PROT_READ,
                     MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map share '%s': %s", path, strerror(errno));
        int r = file_check(file, path, e);
        if (r < 0) {
                munmap(file, sizeof *file);
                return r;
        }
        *ret_share = (struct share){ .file = file, .is_writable = is_writable };
        return 0;
}

void share_close(struct share *share)
{
        if (share->file)
                munmap(share->file, sizeof *share->file);
        share->file = NULL;
}

const struct share_copy *share_current(const struct share *share)
{
        return &share->file
                        ->copies[atomic_load_explicit(&share->file->index, memory_order_acquire) &
                                 1];
}

/* A word at a time, each read once: what is checked is what is used. */
static void words_read(const struct share_copy *from, struct share_copy *to)
{
        typedef uint64_t __attribute__((may_alias)) word;
        const word *source = (const word *)from;
        word *target = (word *)to;

        static_assert(sizeof *from % sizeof(word) == 0, "is read in words");
        for (size_t i = 0; i < sizeof *from / sizeof(word); i++)
                target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

int share_read(const struct share *share, struct share_copy *ret_copy, struct err *e)
{
        enum { TRIES = 3 }; /* the owner may change it twice while we read */
        struct share_copy copy;
        int r = -EPROTO;

        for (int i = 0; i < TRIES && r < 0; i++) {
                words_read(share_current(share), &copy);
                r = copy.checksum == copy_checksum(&copy)
                            ? share_check(&copy, e)
                            : err_set(e, -EPROTO, "the share is damaged");
        }
        if (r == 0)
                memcpy((void *)ret_copy, (const void *)&copy, sizeof copy);
        return r;
}

uint64_t share_generation(const struct share *share)
{
        return __atomic_load_n(&share_current(share)->generation, __ATOMIC_RELAXED);
}

int share_update(struct share *share, const struct share_copy *content, struct err *e)
{
        int r = share_check(content, e);
        if (r < 0)
                return r;

        uint32_t used = atomic_load(&share->file->index) & 1;
        struct share_copy *copy = &share->file->copies[!used];
        uint64_t generation = share->file->copies[used].generation + 1;
        memcpy((void *)copy, content, sizeof *copy);
        copy->generation = generation;
        copy->checksum = copy_checksum(copy);
        /* On before, off after: an owner killed in between leaves programs looking for a limit that
         * is not there, never the other way round. */
        const uint32_t limits_compute = share_limits_compute(content);
        atomic_fetch_or(&share->file->limits_compute, limits_compute);
        atomic_store_explicit(&share->file->index, !used, memory_order_release);
        atomic_fetch_and(&share->file->limits_compute, limits_compute | SHARE_LIMITS_TIMESLICES);
        return 0;
}

/* The change to the other copy was complete, but for saying so. */
static bool is_newer(const struct share_copy *other, const struct share_copy *used)
{
        return other->generation > used->generation && other->checksum == copy_checksum(other) &&
               share_check(other, NULL) == 0;
}

bool share_mend(struct share *share)
{
        struct share_file *file = share->file;
        const uint32_t used = atomic_load(&file->index) & 1;
        const bool is_stale = is_newer(&file->copies[!used], &file->copies[used]);

        if (is_stale)
                atomic_store_explicit(&file->index, !used, memory_order_release);
        const uint32_t said = atomic_load(&file->limits_compute);
        const uint32_t right =
                share_limits_compute(share_current(share)) | (said & SHARE_LIMITS_TIMESLICES);
        if (said != right)
                atomic_store(&file->limits_compute, right);
        return is_stale || said != right;
}

void share_set_timeslices(struct share *share, bool takes_timeslices)
{
        const uint32_t now = atomic_load(&share->file->limits_compute) & SHARE_LIMITS_TIMESLICES;

        if (!share->is_writable || (now != 0) == takes_timeslices)
                return;
        if (takes_timeslices)
                atomic_fetch_or(&share->file->limits_compute, SHARE_LIMITS_TIMESLICES);
        else
                atomic_fetch_and(&share->file->limits_compute, ~(uint32_t)SHARE_LIMITS_TIMESLICES);
}

int share_find_device(const struct share_copy *copy, const char *uuid)
{
        const unsigned count = share_device_count(copy);

        for (unsigned i = 0; i < count; i++)
                if (strncmp(copy->devices[i].uuid, uuid, SHARE_UUID) == 0)
                        return (int)i;
        return -1;
}

unsigned share_cap_percent(const struct share_device *device)
{
        unsigned cores = device->cores_percent, most = device->cores_max_percent;

        if (device->policy == SHARE_POLICY_NONE)
                return 0;
        if (device->policy == SHARE_POLICY_BALANCE && (cores || most))
                return most ? most : 100;
        return cores ? cores : most;
}

/* The whole device, guaranteed, is no limit and nothing to lend or borrow. */
uint32_t share_limits_compute(const struct share_copy *copy)
{
        const unsigned count = share_device_count(copy);
        uint32_t limits = 0;

        for (unsigned i = 0; i < count; i++) {
                const struct share_device *device = &copy->devices[i];

                if (!share_cap_percent(device) || device->cores_percent >= 100)
                        continue;
                limits |= SHARE_LIMITS_LAUNCHES;
                if (device->flags & SHARE_COPIES_COUNT)
                        limits |= SHARE_LIMITS_COPIES;
        }
        return limits;
}

#define SAID_BYTES_BITS 56

void share_note_said(struct share_device *device, uint64_t limit_bytes, unsigned cores_percent)
{
        const uint64_t most = (UINT64_C(1) << SAID_BYTES_BITS) - 1;

        device->said = (limit_bytes <= most ? limit_bytes : 0) | (uint64_t)(cores_percent & 0xff)
                                                                         << SAID_BYTES_BITS;
}

uint64_t share_said_bytes(const struct share_device *device)
{
        return device->said & ((UINT64_C(1) << SAID_BYTES_BITS) - 1);
}

unsigned share_said_cores(const struct share_device *device)
{
        return (unsigned)(device->said >> SAID_BYTES_BITS);
}
