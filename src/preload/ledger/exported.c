/* SPDX-License-Identifier: Apache-2.0 */
/* exported: notes of the holding table under keys that begin at a range's start, which has the two highest
 * bits but one set:
 *   waiting  released here, and held by somebody else still: its charge
 *   import   held here: how often, its length, and which of our open files has the lock */
#include "exported.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lock.h"
#include "log.h"
#include "scope.h"

#define WAITING_KEY(start) ((start) | UINT64_C(1) << 63)
#define IMPORT_KEY(start)  ((start) | UINT64_C(1) << 63 | UINT64_C(1) << 60)

enum { NODES = 16, GRANULE_BYTES = 1 << HOLDING_BLOCK_SHIFT };

static struct {
        struct region *region;
        void (*release)(const struct holding *holding);
        struct lock lock;
        uint64_t next[REGION_DEVICES]; /* granules of our window that were given out */
        struct {                       /* our imports' locks, node by node */
                struct file_identity node;
                int fd; /* 0: none; never standard input's number, which is not ours */
        } nodes[NODES];
        _Atomic uint32_t waiting_count;
        _Atomic uint64_t beyond_bytes[REGION_DEVICES];
} exported;

static uint64_t granules_of(uint64_t bytes)
{
        return bytes / GRANULE_BYTES;
}

/* A range of our window that nobody has: handles of an earlier process of this slot may live. */
static bool range_find(int fd, unsigned device, uint64_t granules, struct export_range *ret_range)
{
        enum { TRIES = 256 };
        const struct region *region = exported.region;
        const struct export_range window = export_range_window(region, region->slot, device);

        for (unsigned i = 0; i < TRIES && granules && granules <= window.granules; i++) {
                struct export_range part, range = { .granules = granules };
                if (exported.next[device] + granules > window.granules)
                        exported.next[device] = 0;
                range.start = window.start + exported.next[device];
                if (!export_range_is_locked(fd, range, &part)) {
                        exported.next[device] += granules;
                        *ret_range = range;
                        return true;
                }
                exported.next[device] = part.start + part.granules - window.start;
        }
        return false;
}

/* Who comes after a death must find the node. */
static void node_tell(int fd, unsigned device)
{
        struct region_device *told = &exported.region->file->devices[device];
        struct file_identity node;

        if (file_identity_of(fd, &node) < 0)
                return;
        atomic_store(&told->export_node[0], node.device);
        atomic_store(&told->export_node[1], node.inode);
}

static void warn(void)
{
        static _Atomic bool has_warned;

        if (!atomic_exchange(&has_warned, true))
                log_warn("cannot follow exported memory: its handle takes no lock; it counts while "
                         "its maker holds it");
}

uint64_t exported_note(const struct holding *allocation, int fd)
{
        struct export_range range = { .start = allocation->number,
                                      .granules = granules_of(allocation->bytes) };
        struct holding import;
        bool is_done;

        if (allocation->kind == HOLDING_IMPORTED) {
                if (!holding_find(IMPORT_KEY(range.start), &import))
                        return 0;
                range.granules = granules_of(import.bytes);
        }
        lock_take(&exported.lock);
        is_done = range.start || range_find(fd, allocation->device, range.granules, &range);
        if (is_done)
                node_tell(fd, allocation->device);
        is_done = is_done && export_range_lock(fd, range) == 0;
        lock_give(&exported.lock);
        if (!is_done)
                warn();
        return is_done ? range.start : 0;
}

static int probe_open(const struct region *region, unsigned device)
{
        const struct region_device *told = &region->file->devices[device];
        const struct file_identity node = { .device = atomic_load(&told->export_node[0]),
                                            .inode = atomic_load(&told->export_node[1]) };

        return node.inode ? export_node_open(node) : -ENOENT;
}

/* What nobody can say counts as held. */
static bool is_held(int probe, uint64_t start, uint64_t bytes)
{
        struct export_range part;

        if (probe < 0)
                return probe != -ENOENT;
        return export_range_is_locked(
                probe, (struct export_range){ .start = start, .granules = granules_of(bytes) },
                &part);
}

void exported_release(const struct holding *allocation)
{
        autoclose int probe = probe_open(exported.region, allocation->device);
        struct holding waiting = *allocation;

        if (!is_held(probe, allocation->number, allocation->bytes)) {
                exported.release(allocation);
                return;
        }
        waiting.key = WAITING_KEY(allocation->number);
        waiting.kind = HOLDING_EXPORTED;
        waiting.count = 1;
        /* Not noted for want of memory: it stays charged until the process ends. */
        if (!holding_add(&waiting))
                return;
        atomic_fetch_add(&exported.beyond_bytes[waiting.device], waiting.bytes);
        atomic_fetch_add(&exported.waiting_count, 1);
}

static void check_one(int probe, const struct holding *waiting)
{
        struct holding taken;

        if (is_held(probe, waiting->number, waiting->bytes) || !holding_take(waiting->key, &taken))
                return;
        atomic_fetch_sub(&exported.waiting_count, 1);
        atomic_fetch_sub(&exported.beyond_bytes[taken.device], taken.bytes);
        exported.release(&taken);
}

static void check_device(unsigned device, struct holding *waiting, unsigned most)
{
        const unsigned count = holding_list(HOLDING_EXPORTED, device, waiting, most);
        autoclose int probe = count ? probe_open(exported.region, device) : -1;

        for (unsigned i = 0; i < count && probe >= 0; i++)
                check_one(probe, &waiting[i]);
}

void exported_check(void)
{
        const unsigned count = atomic_load_explicit(&exported.waiting_count, memory_order_relaxed);
        const size_t bytes = count * sizeof(struct holding);

        if (!count || !lock_try(&exported.lock))
                return;
        struct holding *waiting =
                mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (waiting != MAP_FAILED) {
                for (unsigned d = 0; d < exported.region->device_count; d++)
                        check_device(d, waiting, count);
                munmap(waiting, bytes);
        }
        lock_give(&exported.lock);
}

/* Our open file of the handle's node, which has the locks of all our imports there. −1: there can be none. A
 * program that closes what it does not know may have closed it. */
static int node_find(int fd)
{
        struct file_identity node, now;

        if (file_identity_of(fd, &node) < 0)
                return -1;
        for (unsigned i = 0; i < NODES; i++) {
                if (exported.nodes[i].fd && file_identity_is(exported.nodes[i].node, node) &&
                    file_identity_of(exported.nodes[i].fd, &now) == 0 &&
                    file_identity_is(now, node))
                        return (int)i;
        }
        for (unsigned i = 0; i < NODES; i++) {
                if (exported.nodes[i].fd && !file_identity_is(exported.nodes[i].node, node))
                        continue;
                exported.nodes[i].fd = export_node_reopen(fd);
                exported.nodes[i].node = node;
                if (exported.nodes[i].fd > 0)
                        return (int)i;
                exported.nodes[i].fd = 0;
                return -1;
        }
        return -1;
}

static bool import_note(int fd, struct export_range range)
{
        struct holding import = { .key = IMPORT_KEY(range.start),
                                  .bytes = range.granules * GRANULE_BYTES,
                                  .count = 1,
                                  .kind = HOLDING_IMPORTED };

        if (holding_count(import.key, 1) > 0)
                return true;
        const int node = node_find(fd);
        if (node < 0 || export_range_lock(exported.nodes[node].fd, range) < 0)
                return false;
        import.number = (uint64_t)node;
        if (holding_add(&import))
                return true;
        export_range_unlock(exported.nodes[node].fd, range);
        return false;
}

bool exported_hold(int fd, struct export_range range, const struct holding *import)
{
        lock_take(&exported.lock);
        const bool is_noted = import_note(fd, range);
        lock_give(&exported.lock);
        if (is_noted)
                atomic_fetch_add(&exported.beyond_bytes[import->device], import->bytes);
        else
                warn();
        return is_noted;
}

void exported_let_go(const struct holding *import)
{
        const uint64_t start = import->number, key = IMPORT_KEY(start);
        struct holding noted;

        lock_take(&exported.lock);
        if (holding_find(key, &noted) && holding_count(key, -1) == 0)
                export_range_unlock(exported.nodes[noted.number % NODES].fd,
                                    (struct export_range){ .start = start,
                                                           .granules = granules_of(noted.bytes) });
        lock_give(&exported.lock);
        atomic_fetch_sub(&exported.beyond_bytes[import->device], import->bytes);
}

/* Under the lock, as exported_check() changes both. */
uint64_t exported_held_bytes(unsigned device)
{
        const struct region *region = exported.region;

        lock_take(&exported.lock);
        const uint64_t held = region_held_bytes(region, region->slot, device);
        const uint64_t beyond = atomic_load(&exported.beyond_bytes[device]);
        lock_give(&exported.lock);
        return held > beyond ? held - beyond : 0;
}

uint64_t exported_kept(const struct region *region, uint32_t slot, unsigned device)
{
        autoclose int probe = probe_open(region, device);

        if (probe < 0)
                return probe == -ENOENT ? 0 : UINT64_MAX;
        return export_range_locked(probe, export_range_window(region, slot, device)) *
               GRANULE_BYTES;
}

void exported_start(struct region *region, void (*release)(const struct holding *holding))
{
        memset((void *)&exported, 0, sizeof exported);
        exported.region = region;
        exported.release = release;
}

/* The parent's locks are the parent's: here its open files are only closed. */
void exported_clear(void)
{
        struct region *region = exported.region;
        void (*release)(const struct holding *holding) = exported.release;

        for (unsigned i = 0; i < NODES; i++)
                if (exported.nodes[i].fd)
                        close(exported.nodes[i].fd);
        exported_start(region, release);
}
