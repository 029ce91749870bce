/* SPDX-License-Identifier: Apache-2.0 */
/* Ways that change what is in this process's memory: libvgpu.so's code, and its mappings of the share and the
 * region. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evade.h"
#include "evade_jump.h"
#include "share_layout.h"

#define REGION     "/etc/vgpu/region"
#define MORE_BYTES (UINT64_C(8) << 30)

size_t jump_make(const void *to, unsigned char *ret_code)
{
#if defined(__x86_64__)
        static const unsigned char begin[] = { 0x48, 0xb8 }, end[] = { 0xff, 0xe0 };
#else
        static const unsigned char begin[] = { 0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6 },
                                   end[1];
#endif
        const size_t end_bytes = sizeof end > 1 ? sizeof end : 0;

        memcpy(ret_code, begin, sizeof begin);
        memcpy(ret_code + sizeof begin, &to, sizeof to);
        memcpy(ret_code + sizeof begin + sizeof to, end, end_bytes);
        return sizeof begin + sizeof to + end_bytes;
}

/* The page that the address is on, and the next. */
static bool pages_protect(const void *address, int protection)
{
        const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

        return mprotect((void *)((uintptr_t)address & ~(page - 1)), 2 * page, protection) == 0;
}

/* The first instructions of libvgpu.so's function lead to the driver's. */
static bool code_change(struct driver_calls *calls)
{
        unsigned char code[JUMP_BYTES];
        const size_t bytes = jump_make(driver_own("cuMemAlloc_v2"), code);

        if (!pages_protect((void *)calls->alloc, PROT_READ | PROT_WRITE | PROT_EXEC))
                return barred("mprotect");
        memcpy((void *)calls->alloc, code, bytes);
        __builtin___clear_cache((char *)calls->alloc, (char *)calls->alloc + bytes);
        return true;
}

static bool self_write(const void *at, const void *from, size_t bytes)
{
        const int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
        const ssize_t n = fd < 0 ? -1 : pwrite(fd, from, bytes, (off_t)(uintptr_t)at);

        if (fd >= 0)
                close(fd);
        return n == (ssize_t)bytes ? true : barred("/proc/self/mem");
}

/* The same, with the file that passes over the protection of pages. */
static bool code_change_by_file(struct driver_calls *calls)
{
        unsigned char code[JUMP_BYTES];
        const size_t bytes = jump_make(driver_own("cuMemAlloc_v2"), code);

        return self_write((void *)calls->alloc, code, bytes);
}

static bool share_protect(struct driver_calls *calls)
{
        size_t bytes;
        const uintptr_t share = mapping_find(SHARE_PATH, &bytes);

        (void)calls;
        if (!share || mprotect((void *)share, bytes, PROT_READ | PROT_WRITE) < 0)
                return barred("mprotect");
        share_raise((struct share_file *)share);
        return true;
}

static bool share_write_by_file(struct driver_calls *calls)
{
        size_t bytes;
        const uintptr_t share = mapping_find(SHARE_PATH, &bytes);
        const uint64_t more = MORE_BYTES;

        (void)calls;
        return share && self_write((char *)share + offsetof(struct share_file,
                                                            copies[0].devices[0].limit_bytes),
                                   &more, sizeof more);
}

void share_raise(struct share_file *share)
{
        for (unsigned i = 0; i < 2; i++) {
                struct share_device *device = &share->copies[i].devices[0];

                atomic_store(&device->limit_bytes, MORE_BYTES);
                device->physical_bytes = MORE_BYTES;
                device->limit_max_bytes = 0;
        }
}

/* A copy in the place of the mapping: what libvgpu.so reads is the tenant's. */
static bool share_replace(struct driver_calls *calls)
{
        size_t bytes;
        const uintptr_t share = mapping_find(SHARE_PATH, &bytes);
        const int fd = open(SHARE_PATH, O_RDONLY | O_CLOEXEC);

        (void)calls;
        if (!share || mmap((void *)share, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                           fd, 0) == MAP_FAILED)
                return barred("mmap");
        share_raise((struct share_file *)share);
        return true;
}

/* A private copy: what this process is charged nobody else sees. */
static bool region_replace(struct driver_calls *calls)
{
        size_t bytes;
        const uintptr_t region = mapping_find(REGION, &bytes);
        const int fd = open(REGION, O_RDWR | O_CLOEXEC);

        (void)calls;
        return region && mmap((void *)region, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) != MAP_FAILED
                       ? true
                       : barred("mmap");
}

const struct way ways_memory[] = {
        { .name = "code", .open = calls_plain, .change = code_change },
        { .name = "code-by-file", .open = calls_plain, .change = code_change_by_file },
        { .name = "share-protect", .open = calls_plain, .change = share_protect },
        { .name = "share-by-file", .open = calls_plain, .change = share_write_by_file },
        { .name = "share-replace", .open = calls_plain, .change = share_replace },
        { .name = "region-replace", .open = calls_plain, .change = region_replace },
        { 0 },
};
