/* SPDX-License-Identifier: Apache-2.0 */
/* The hostile tenant. What it writes: single bits, values that mean something, bytes of another place, all of a
 * valid file again (or nothing would come past the first check); other lengths; other files. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arbiter_lock.h"
#include "clock.h"
#include "err.h"
#include "gpu_page.h"
#include "hostile.h"
#include "machine.h"
#include "region.h"
#include "share.h"

/* The beginning of each file, as it was made: what lies beyond is reached by offsets of its own. */
enum { VALID_BYTES = 256 << 10 };

struct tenant {
        const struct hostile_hall *hall;
        char *valid[FILE_COUNT];
        size_t valid_bytes[FILE_COUNT];
        off_t whole_bytes[FILE_COUNT];
        unsigned seed;
};

static _Noreturn void fail(const char *what)
{
        fprintf(stderr, "hostile: cannot make %s\n", what);
        exit(2);
}

static void share_make(const struct hostile_hall *hall)
{
        struct share_copy copy = { .device_count = HOSTILE_DEVICES, .name = "hostile" };
        const struct gpu_device devices[HOSTILE_DEVICES] = { { .memory_bytes = UINT64_C(1)
                                                                               << 34 } };
        struct err e = { 0 };

        snprintf(copy.region, sizeof copy.region, "%s", hall->paths[FILE_REGION]);
        for (unsigned i = 0; i < HOSTILE_DEVICES; i++) {
                snprintf(copy.devices[i].uuid, SHARE_UUID, "GPU-%u", i);
                copy.devices[i].limit_bytes = copy.devices[i].physical_bytes = UINT64_C(1) << 30;
                copy.devices[i].cores_percent = 40;
        }
        if (gpu_page_create(hall->paths[FILE_GRANT], hall->paths[FILE_WANT], "here", devices,
                            HOSTILE_DEVICES, &e) < 0 ||
            share_create(hall->paths[FILE_SHARE], &copy, &e) < 0)
                fail(e.text);
}

void hostile_files_make(const struct hostile_hall *hall)
{
        struct machine_spec spec;
        struct region region;
        struct err e = { 0 };

        struct arbiter_lock lock;

        share_make(hall);
        if (arbiter_lock_open(hall->paths[FILE_ARBITER], &lock, &e) < 0)
                fail(e.text);
        arbiter_lock_close(&lock);
        machine_spec_init(&spec);
        spec.gpu_count = HOSTILE_DEVICES;
        if (machine_create(hall->paths[FILE_MACHINE], &spec, &e) < 0)
                fail(e.text);
        if (region_open(hall->paths[FILE_REGION], HOSTILE_DEVICES, &region, &e) < 0 ||
            region_join(&region) < 0)
                fail("a region");
        region_charge(&region, 0, REGION_DEVICE, 3 << 20, UINT64_C(1) << 30);
        region_close(&region);
}

static unsigned below(struct tenant *tenant, unsigned limit)
{
        return (unsigned)rand_r(&tenant->seed) % limit;
}

static void valid_read(struct tenant *tenant, enum hostile_file file)
{
        const int fd = open(tenant->hall->paths[file], O_RDONLY | O_CLOEXEC);
        struct stat st;

        tenant->valid[file] = malloc(VALID_BYTES);
        if (fd < 0 || fstat(fd, &st) < 0 || !tenant->valid[file])
                fail("a copy");
        const ssize_t length = read(fd, tenant->valid[file], VALID_BYTES);
        tenant->valid_bytes[file] = length > 0 ? (size_t)length : 0;
        tenant->whole_bytes[file] = st.st_size;
        close(fd);
}

/* Where something is decided, for the most part. */
static off_t offset_choose(struct tenant *tenant, enum hostile_file file)
{
        static const size_t region_parts[] = {
                offsetof(struct region_file, devices),
                offsetof(struct region_file, devices) +
                        REGION_DEVICES * sizeof(struct region_device),
                offsetof(struct region_file, computes),
                offsetof(struct region_file, costs),
                offsetof(struct region_file, slots) + sizeof(struct region_slot),
                offsetof(struct region_file, slots) + 2 * sizeof(struct region_slot),
                offsetof(struct region_file, slots) + sizeof(struct region_slot) +
                        offsetof(struct region_slot, charges),
        };
        static const size_t machine_parts[] = {
                offsetof(struct machine_file, header.slots_high),
                offsetof(struct machine_file, header.gpus),
                offsetof(struct machine_file, header.units),
                offsetof(struct machine_file, exports),
                offsetof(struct machine_file, slots),
                offsetof(struct machine_file, channels),
        };
        size_t part = 0;

        if (file == FILE_REGION && below(tenant, 4))
                part = region_parts[below(tenant, sizeof region_parts / sizeof *region_parts)];
        else if (file == FILE_MACHINE && below(tenant, 4))
                part = machine_parts[below(tenant, sizeof machine_parts / sizeof *machine_parts)];
        else if (file == FILE_GRANT || file == FILE_WANT)
                part = below(tenant, 3) * (size_t)GPU_PAGE_BYTES;
        return (off_t)(part + below(tenant, below(tenant, 8) ? 256 : 8192) / 4 * 4);
}

static uint64_t value_choose(struct tenant *tenant)
{
        const uint64_t a = below(tenant, 256), b = below(tenant, 64);

        switch (below(tenant, 10)) {
        case 0:
                return a;
        case 1:
                return UINT64_MAX - a;
        case 2:
                return clock_now_ns() + (a << b % 40);
        case 3:
                return clock_now_ns() - (a << b % 40);
        case 4: /* the state of a dead process's slot, or of one that is reaped by another */
                return (UINT64_C(0x7fffff00) + a) << 32 | b << 8 | b % 5;
        case 5: /* {units, number} */
                return a << REGION_NUMBER_BITS | b;
        case 6: /* {units, slot, number} */
                return a << (REGION_NUMBER_BITS + REGION_SLOT_BITS) |
                       (b % 8) << REGION_NUMBER_BITS | b / 8;
        case 7:
                return (uint64_t)getppid() << 32 | 2;
        case 8:
                return UINT64_C(1) << b;
        default:
                return a << 56 | b << 24 | a;
        }
}

static void bytes_change(struct tenant *tenant, enum hostile_file file, int fd)
{
        const off_t at = offset_choose(tenant, file), from = offset_choose(tenant, file);
        uint64_t value = 0;
        char other[512];

        if (below(tenant, 3) == 0 && pread(fd, &value, 8, at) == 8)
                value ^= UINT64_C(1) << below(tenant, 64);
        else
                value = value_choose(tenant);
        if (below(tenant, 8) == 0) { /* what is right elsewhere */
                const ssize_t length = pread(fd, other, 8 + below(tenant, sizeof other - 8), from);
                if (length > 0 && pwrite(fd, other, (size_t)length, at) < 0)
                        return;
        } else if (pwrite(fd, &value, below(tenant, 2) ? 4 : 8, at) < 0) {
                return;
        }
}

/* Longer than anything is; sparse. */
static void length_change(struct tenant *tenant, enum hostile_file file, int fd)
{
        const off_t whole = tenant->whole_bytes[file];
        const off_t lengths[] = { 0,         8,
                                  4096,      whole / 2,
                                  whole - 1, whole + 4096,
                                  whole * 2, (off_t)below(tenant, 1 << 20) };

        if (ftruncate(fd, lengths[below(tenant, sizeof lengths / sizeof *lengths)]) < 0)
                return;
}

static void whole_again(struct tenant *tenant, enum hostile_file file, int fd)
{
        if (ftruncate(fd, tenant->whole_bytes[file]) < 0 ||
            pwrite(fd, tenant->valid[file], tenant->valid_bytes[file], 0) < 0)
                return;
}

/* Another file, a link or a pipe in its place; the right one comes again soon. */
static void file_replace(struct tenant *tenant, enum hostile_file file)
{
        const char *path = tenant->hall->paths[file];

        unlink(path);
        switch (below(tenant, 4)) {
        case 0:
                if (mkfifo(path, 0600) < 0)
                        return;
                break;
        case 1:
                if (symlink("/dev/zero", path) < 0)
                        return;
                break;
        case 2:
                if (mkdir(path, 0700) < 0)
                        return;
                rmdir(path);
                break;
        default:
                break;
        }
        usleep(below(tenant, 2000));
        unlink(path);
        const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
                whole_again(tenant, file, fd);
                close(fd);
        }
}

/* Now and then all is right at once, or nobody would come past what needs several files. */
static void all_again(struct tenant *tenant)
{
        for (enum hostile_file file = 0; file < FILE_COUNT; file++) {
                const int fd = open(tenant->hall->paths[file],
                                    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
                if (fd < 0)
                        continue;
                whole_again(tenant, file, fd);
                close(fd);
        }
}

static void change(struct tenant *tenant, bool cuts)
{
        const enum hostile_file file = below(tenant, FILE_COUNT);
        const int fd =
                open(tenant->hall->paths[file], O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        const unsigned what = below(tenant, 64);

        if (fd < 0 || what == 0) {
                if (cuts)
                        file_replace(tenant, file);
        } else if (what == 1) {
                all_again(tenant);
        } else if (what < 12) {
                whole_again(tenant, file, fd);
        } else if (what < 16 && cuts) {
                length_change(tenant, file, fd);
        } else {
                for (unsigned i = 1 + below(tenant, 8); i > 0; i--)
                        bytes_change(tenant, file, fd);
        }
        if (fd >= 0)
                close(fd);
}

void hostile_rewrite(const struct hostile_hall *hall, struct hostile_board *board, unsigned seed,
                     bool cuts)
{
        struct tenant tenant = { .hall = hall, .seed = seed };

        for (enum hostile_file file = 0; file < FILE_COUNT; file++)
                valid_read(&tenant, file);
        while (!board->is_over) {
                change(&tenant, cuts);
                board->changes++;
        }
        _exit(0);
}
