/* SPDX-License-Identifier: Apache-2.0 */
/* dead_figure: the driver frees a killed process's memory when it comes to closing its files, which may be
 * after the process is gone; until then NVML lists its pid. */
#include "dead_figure.h"

#include <errno.h>

#include "devices.h"
#include "exported.h"
#include "identity.h"
#include "own_figure.h"
#include "process.h"

enum { LISTED_MOST = 4096 };

/* Guarded by the lock of the search that asks. */
static struct {
        struct identity_entry entries[LISTED_MOST];
        unsigned count;
} listed;

static void ask(void)
{
        const int saved_errno = errno;

        listed.count = 0;
        for (int i = 0; i < devices_count() && listed.count < LISTED_MOST; i++) {
                unsigned count = LISTED_MOST - listed.count;

                if (own_figure_list(i, listed.entries + listed.count, &count))
                        listed.count += count;
        }
        errno = saved_errno;
}

static bool is_listed(unsigned pid)
{
        for (unsigned i = 0; i < listed.count; i++)
                if (listed.entries[i].pid == pid)
                        return true;
        return false;
}

/* The number is another process's by now: of this container's, or one in our own pid namespace. */
static bool is_reused(const struct region *region, uint32_t slot, unsigned pid)
{
        const struct region_slot *dead = &region->file->slots[slot];
        const uint32_t high = region_slots_high(region);

        for (uint32_t i = 1; i <= high; i++)
                if (i != slot && atomic_load(&region->file->slots[i].host_pid) == pid &&
                    region_slot_is_alive(region, i))
                        return true;
        const uint64_t start_time =
                atomic_load(&dead->state) >> 32 == pid ? process_start_time((pid_t)pid) : 0;
        return start_time && start_time != atomic_load(&dead->start_time);
}

/* By the pid that the process had learned; where it had learned none, by those it may have had. */
static bool holds(const struct region *region, uint32_t slot)
{
        const struct region_slot *dead = &region->file->slots[slot];
        const unsigned known = atomic_load(&dead->host_pid);
        const unsigned pids[] = { known, known ? 0 : atomic_load(&dead->node_pid),
                                  known ? 0 : (unsigned)(atomic_load(&dead->state) >> 32) };

        for (unsigned i = 0; i < sizeof pids / sizeof *pids; i++)
                if (pids[i] && is_listed(pids[i]) && !is_reused(region, slot, pids[i]))
                        return true;
        return false;
}

const struct region_driver dead_figure = { .ask = ask, .holds = holds, .kept = exported_kept };
