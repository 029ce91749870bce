/* SPDX-License-Identifier: Apache-2.0 */
/* export_range: offsets of a file, far beyond those that anybody reads or locks:
 *     {2 bits: ours, 1 bit: 0, 21 bits: container, 13 bits: slot, 6 bits: device, 20 bits: granule}
 * A container is known by the region's own file. The program's errno is kept; nothing is allocated. */
#include "glibc_old.h"

#include "export_range.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scope.h"

enum { GRANULE_BITS = 20, DEVICE_BITS = 6, CONTAINER_BITS = 21 };
enum { SLOT_SHIFT = GRANULE_BITS + DEVICE_BITS, CONTAINER_SHIFT = SLOT_SHIFT + REGION_SLOT_BITS };
#define OURS UINT64_C(0x6000000000000000)
static_assert(CONTAINER_SHIFT + CONTAINER_BITS == 60, "the bit below ours is free");
static_assert(REGION_DEVICES == 1 << DEVICE_BITS, "a device fits its bits");

enum { DESCRIPTOR_LEAST = 256 };

/* Open file locks are of Linux 3.15; older headers lack the names. */
enum { LOCK_QUERY = 36, LOCK_SET = 37 };

static uint64_t container_of(const struct region *region)
{
        uint64_t hash = region->identity.inode * UINT64_C(0x9e3779b97f4a7c15) ^
                        region->identity.device * UINT64_C(0xc2b2ae3d27d4eb4f);

        return (hash ^ hash >> 32) >> 3 & ((1 << CONTAINER_BITS) - 1);
}

struct export_range export_range_window(const struct region *region, uint32_t slot, unsigned device)
{
        return (struct export_range){
                .start = OURS | container_of(region) << CONTAINER_SHIFT |
                         (uint64_t)slot << SLOT_SHIFT | (uint64_t)device << GRANULE_BITS,
                .granules = UINT64_C(1) << GRANULE_BITS,
        };
}

bool export_range_is_of(const struct region *region, struct export_range range)
{
        return range.start >> CONTAINER_SHIFT == (OURS >> CONTAINER_SHIFT | container_of(region));
}

/* The C library's fcntl() would need a newer one. */
static int lock_call(int fd, int command, struct flock *lock)
{
        const int saved_errno = errno;
        const int r = syscall(SYS_fcntl, fd, command, lock) < 0 ? -errno : 0;

        errno = saved_errno;
        return r;
}

static struct flock lock_on(struct export_range range, short type)
{
        return (struct flock){ .l_type = type,
                               .l_whence = SEEK_SET,
                               .l_start = (off_t)range.start,
                               .l_len = (off_t)range.granules };
}

int export_range_lock(int fd, struct export_range range)
{
        struct flock lock = lock_on(range, F_RDLCK);

        return lock_call(fd, LOCK_SET, &lock);
}

int export_range_unlock(int fd, struct export_range range)
{
        struct flock lock = lock_on(range, F_UNLCK);

        return lock_call(fd, LOCK_SET, &lock);
}

static uint64_t end_of(struct export_range range)
{
        return range.start + range.granules;
}

bool export_range_is_locked(int fd, struct export_range range, struct export_range *ret_part)
{
        struct flock lock = lock_on(range, F_WRLCK);

        if (!range.granules || lock_call(fd, LOCK_QUERY, &lock) < 0 || lock.l_type == F_UNLCK)
                return false;
        const uint64_t start =
                (uint64_t)lock.l_start > range.start ? (uint64_t)lock.l_start : range.start;
        const uint64_t end =
                lock.l_len ? (uint64_t)lock.l_start + (uint64_t)lock.l_len : end_of(range);
        *ret_part = (struct export_range){
                .start = start, .granules = (end < end_of(range) ? end : end_of(range)) - start
        };
        return true;
}

/* The first part of the range that is locked: each answer leaves only what lies before it to be asked for. */
static bool first_locked(int fd, struct export_range range, struct export_range *ret_part)
{
        struct export_range before = range;
        bool is_any = false;

        while (export_range_is_locked(fd, before, ret_part)) {
                before.granules = ret_part->start - before.start;
                range = *ret_part;
                is_any = true;
        }
        *ret_part = range;
        return is_any;
}

uint64_t export_range_locked(int fd, struct export_range range)
{
        const uint64_t end = end_of(range);
        struct export_range part;
        uint64_t granules = 0;

        while (first_locked(fd, range, &part)) {
                granules += part.granules;
                range.start = end_of(part);
                range.granules = end - range.start;
        }
        return granules;
}

/* "lock:\t1: OFDLCK ADVISORY  READ -1 00:06:1054 START END": the last two numbers. */
static bool line_read(const char *line, struct export_range *ret_range)
{
        char *end;
        const char *at = line + strlen(line);

        for (unsigned blanks = 0; blanks < 2; at--) {
                if (at == line)
                        return false;
                blanks += at[-1] == ' ';
        }
        const uint64_t start = strtoull(at + 1, &end, 10);
        const uint64_t last = strtoull(end, NULL, 10);
        if (strncmp(line, "lock:", 5) || (start & OURS) != OURS || last < start)
                return false;
        *ret_range = (struct export_range){ .start = start, .granules = last - start + 1 };
        return true;
}

bool export_range_of(int fd, struct export_range *ret_range)
{
        const int saved_errno = errno;
        char path[48], text[1024], *remaining = text;
        bool is_found = false;

        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        autoclose int info = open(path, O_RDONLY | O_CLOEXEC);
        const ssize_t length = info < 0 ? 0 : read(info, text, sizeof text - 1);
        text[length > 0 ? length : 0] = '\0';
        for (char *line; !is_found && (line = strsep(&remaining, "\n"));)
                is_found = line_read(line, ret_range);
        errno = saved_errno;
        return is_found;
}

int export_node_reopen(int fd)
{
        const int saved_errno = errno;
        char path[48];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (opened < 0)
                opened = -errno;
        const int high =
                opened < 0 ? -1
                           : (int)syscall(SYS_fcntl, opened, F_DUPFD_CLOEXEC, DESCRIPTOR_LEAST);
        if (high >= 0) {
                close(opened);
                opened = high;
        }
        errno = saved_errno;
        return opened;
}

struct directory_entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
};

static int node_among(const char *entries, long size, struct file_identity node)
{
        for (long at = 0; at < size;) {
                const struct directory_entry *entry = (const void *)(entries + at);
                const int fd = (int)strtol(entry->name, NULL, 10);
                struct file_identity found;

                at += entry->length;
                if (entry->name[0] == '.' || file_identity_of(fd, &found) < 0 ||
                    !file_identity_is(found, node))
                        continue;
                const int opened = export_node_reopen(fd);
                if (opened >= 0 || opened == -EMFILE || opened == -ENFILE || opened == -ENOMEM)
                        return opened;
        }
        return -ENOENT;
}

int export_node_open(struct file_identity node)
{
        const int saved_errno = errno;
        _Alignas(struct directory_entry) char entries[2048];
        autoclose int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int opened = folder < 0 ? -errno : -ENOENT;
        long size = 1;

        while (folder >= 0 && opened == -ENOENT && size > 0) {
                size = syscall(SYS_getdents64, folder, entries, sizeof entries);
                opened = node_among(entries, size, node);
        }
        errno = saved_errno;
        return opened;
}
