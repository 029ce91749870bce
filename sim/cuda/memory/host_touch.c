/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the page table through /proc: one call per range where the kernel can search (since 6.7),
 * else one word per page. */
#include "host_touch.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"

#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define SCAN_PRESENT  (UINT64_C(1) << 3)
#define SCAN_SWAPPED  (UINT64_C(1) << 4)

/* The kernel's PAGEMAP_SCAN; Debian 12's headers do not have it yet. */
struct scan_region {
        uint64_t start, end, categories;
};
struct scan {
        uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
        uint64_t inverted, all_of, any_of, returned;
};
#define SCAN_REQUEST _IOWR('f', 16, struct scan)

bool host_touch_reset(CUdeviceptr address, size_t count)
{
        return arena_bytes(address) != (char *)(uintptr_t)address &&
               madvise((void *)(uintptr_t)address, count, MADV_DONTNEED) == 0;
}

int host_touch_open(void)
{
        return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

static bool scan_find(int pagemap, CUdeviceptr from, CUdeviceptr end, CUdeviceptr *ret_at)
{
        struct scan_region region = { 0 };
        struct scan scan = {
                .size = sizeof scan,
                .start = from,
                .end = end,
                .regions = (uintptr_t)&region,
                .region_count = 1,
                .most_pages = 1,
                .any_of = SCAN_PRESENT | SCAN_SWAPPED,
                .returned = SCAN_PRESENT,
        };
        int found = ioctl(pagemap, SCAN_REQUEST, &scan);

        *ret_at = found > 0 ? region.start : 0;
        return found >= 0;
}

static CUdeviceptr entries_find(int pagemap, CUdeviceptr from, CUdeviceptr end)
{
        uint64_t entries[512];
        size_t step = (size_t)sysconf(_SC_PAGESIZE);

        while (from < end) {
                ssize_t got = pread(pagemap, entries, sizeof entries,
                                    (off_t)(from / step * sizeof entries[0]));
                if (got <= 0)
                        return 0;
                for (size_t i = 0; i < (size_t)got / sizeof entries[0] && from < end; i++) {
                        if (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED))
                                return from;
                        from += step;
                }
        }
        return 0;
}

CUdeviceptr host_touch_find(int pagemap, CUdeviceptr from, CUdeviceptr end)
{
        CUdeviceptr at;

        return scan_find(pagemap, from, end, &at) ? at : entries_find(pagemap, from, end);
}
