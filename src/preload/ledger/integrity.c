/* SPDX-License-Identifier: Apache-2.0 */
/* integrity: the file, our own part, and the sums of the device that is asked for. */
#include "integrity.h"

#include <stdio.h>

#include "clock.h"
#include "log.h"
#include "region_check.h"
#include "share_layout.h"

enum {
        PAUSE_MS = 500,     /* between two checks */
        PAUSE_TIMES = 1000, /* and so many times what a check takes: in a crowd it takes a while */
        PAUSE_MOST_MS = 10000,
};

enum { VIEWS = 2 };
static const char *const views[VIEWS] = { "/", "/proc/self/ns/mnt" };

static struct {
        char path[SHARE_TEXT];
        struct file_identity views[VIEWS]; /* by which the path was the region's */
        _Atomic int fault;                 /* enum region_fault */
        _Atomic uint64_t next_ns;
} integrity;

void integrity_start(const char *path)
{
        if (integrity.path[0]) /* cuInit again, perhaps with another root by now */
                return;
        snprintf(integrity.path, sizeof integrity.path, "%s", path);
        for (unsigned i = 0; i < VIEWS; i++)
                file_identity_at(views[i], &integrity.views[i]);
}

/* A program that has another root or other mounts by now finds no region at the path, or another one. It cannot
 * tell from there what became of the region, and must not end the memory of all who share it. */
static bool path_is_ours(void)
{
        struct file_identity now;

        for (unsigned i = 0; i < VIEWS; i++)
                if (integrity.views[i].inode && (file_identity_at(views[i], &now) < 0 ||
                                                 !file_identity_is(now, integrity.views[i])))
                        return false;
        return true;
}

static enum region_fault path_check(const struct region *region)
{
        const enum region_fault fault = region_check_file(region, integrity.path);

        return fault == REGION_INTACT || path_is_ours() ? fault : REGION_INTACT;
}

static enum region_fault check(struct region *region, unsigned device_index)
{
        /* What one process has found holds for all, also for those that come later. */
        uint32_t told = atomic_load(&region->file->fault);
        enum region_fault fault =
                told ? (enum region_fault)(told < REGION_UNEVEN ? told : REGION_UNEVEN)
                     : path_check(region);

        if (fault == REGION_INTACT)
                fault = region_check_own(region);
        if (fault == REGION_INTACT)
                fault = region_check_sum(region, device_index);
        return fault == REGION_INTACT ? region_check_sum(region, region_virtual(device_index))
                                      : fault;
}

static void tell(struct region *region, enum region_fault fault)
{
        int intact = REGION_INTACT;

        if (!atomic_compare_exchange_strong(&integrity.fault, &intact, (int)fault))
                return;
        atomic_store(&region->file->fault, fault);
        log_error("region '%s' %s; no more memory", integrity.path, region_fault_text(fault));
}

static uint64_t pause_ns(uint64_t took_ns)
{
        uint64_t wanted_ns = took_ns * PAUSE_TIMES;

        if (wanted_ns < PAUSE_MS * NS_PER_MS)
                return PAUSE_MS * NS_PER_MS;
        return wanted_ns < PAUSE_MOST_MS * NS_PER_MS ? wanted_ns : PAUSE_MOST_MS * NS_PER_MS;
}

bool integrity_holds(struct region *region, unsigned device_index, _Atomic bool *ret_has_checked)
{
        if (clock_about_ns() >= atomic_load_explicit(&integrity.next_ns, memory_order_relaxed)) {
                uint64_t begin_ns = clock_now_ns();
                enum region_fault fault = check(region, device_index);
                uint64_t end_ns = clock_now_ns();
                atomic_store(&integrity.next_ns, end_ns + pause_ns(end_ns - begin_ns));
                atomic_store(ret_has_checked, true);
                if (fault != REGION_INTACT)
                        tell(region, fault);
        }
        return atomic_load_explicit(&integrity.fault, memory_order_relaxed) == REGION_INTACT;
}
