/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant as the arbiter sees it. */
#include "tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "futex_set.h"
#include "guard.h"
#include "region_word.h"
#include "scope.h"

enum { WEIGHT_MOST = 100 }; /* of a share, and of all that a user runs */

/* A tenant that says more than it is charged with may have got it since. If it is not charged with it soon, then it
 * was: what programs held that have ended stays said. */
#define CHARGES_SOON_NS (100 * NS_PER_MS)
#define SAID_NEW_NS     NS_PER_S

static uint64_t inode_of(const char *path)
{
        struct stat st;

        return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

static void path_beside(const char *share_path, const char *name, char ret_path[SHARE_TEXT])
{
        const char *slash = strrchr(share_path, '/');

        snprintf(ret_path, SHARE_TEXT, "%.*s%s", slash ? (int)(slash - share_path + 1) : 0,
                 share_path, name);
}

/* All lie in one folder, here; the region's path in the share is for those who use it. */
static void want_path_of(const struct tenant *tenant, char ret_path[SHARE_TEXT])
{
        gpu_page_want_path(tenant->path, ret_path);
}

static int guarded(void *mapping, size_t bytes, struct err *e)
{
        const int r = guard_add(mapping, bytes);

        return r < 0 ? err_set(e, r, "too many files are mapped under guard") : 0;
}

/* The files may be the tenant's, who can cut them short under us. */
static int pages_open(struct tenant *tenant, struct err *e)
{
        char grant_path[SHARE_TEXT], want_path[SHARE_TEXT];

        gpu_page_grant_path(tenant->path, grant_path);
        want_path_of(tenant, want_path);
        int r = gpu_grant_map(grant_path, PROT_READ | PROT_WRITE, &tenant->grants, e);
        if (r == 0)
                r = guarded(tenant->grants, sizeof *tenant->grants, e);
        if (r == 0)
                r = gpu_want_map(want_path, &tenant->wants, e);
        if (r == 0)
                r = guarded(tenant->wants, sizeof *tenant->wants, e);
        if (r == 0)
                tenant->inode = inode_of(want_path);
        return r;
}

static int files_open(struct tenant *tenant, struct err *e)
{
        guard_open_begin();
        /* The share is not the arbiter's to write, but for whether there are time slices. */
        int r = share_open(tenant->path, true, &tenant->share, e);
        if (r == -EACCES || r == -EROFS)
                r = share_open(tenant->path, false, &tenant->share, e);
        if (r == 0)
                r = guarded(tenant->share.file, sizeof *tenant->share.file, e);
        if (r == 0)
                r = pages_open(tenant, e);
        guard_open_end();
        return r;
}

static uint64_t greatest(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

static struct timeslices_limits limits_of(const struct share_device *row)
{
        const uint32_t cap = share_cap_percent(row);

        return (struct timeslices_limits){
                .weight = !cap ? 0
                               : least(row->weight ? row->weight : row->cores_percent, WEIGHT_MOST),
                .cap_ns_per_s = cap >= 100 ? 0 : cap * (NS_PER_S / 100),
                .is_latency = row->flags & SHARE_LATENCY,
        };
}

/* `content` is ours, and checked. */
static void limits_take(struct tenant *tenant, const struct share_copy *content)
{
        const unsigned count = least(tenant->device_count, content->device_count);

        for (unsigned i = 0; i < count; i++) {
                tenant->devices[i].limits = limits_of(&content->devices[i]);
                tenant->devices[i].limit_bytes = atomic_load_explicit(
                        &content->devices[i].limit_bytes, memory_order_relaxed);
        }
        tenant->generation = content->generation;
}

static void devices_take(struct tenant *tenant, const struct share_copy *content)
{
        tenant->device_count = least(content->device_count, gpu_grant_count(tenant->grants));
        memcpy(tenant->machine, tenant->grants->machine, sizeof tenant->machine);
        for (unsigned i = 0; i < tenant->device_count; i++) {
                memcpy(tenant->devices[i].uuid, content->devices[i].uuid, SHARE_UUID);
                tenant->devices[i].granted = atomic_load(&tenant->grants->devices[i].timeslice);
                tenant->devices[i].number_base = (tenant->devices[i].granted >> GPU_STATE_BITS) + 1;
        }
        limits_take(tenant, content);
}

/* A share's folder is not renamed or replaced under it: it is root's, or named by a descriptor. */
static void owner_read(struct tenant *tenant)
{
        char folder[SHARE_TEXT];
        struct stat st;

        snprintf(folder, sizeof folder, "%s", tenant->path);
        char *slash = strrchr(folder, '/');
        if (slash)
                *slash = '\0';
        tenant->owner = stat(slash ? folder : ".", &st) < 0 ? (uid_t)-1 : st.st_uid;
        tenant->is_foreign = tenant->owner != 0 && tenant->owner != geteuid();
}

int tenant_open(const char *share_path, struct tenant *ret_tenant, struct err *e)
{
        struct tenant tenant = { 0 };
        struct share_copy content;

        snprintf(tenant.path, sizeof tenant.path, "%s", share_path);
        int r = files_open(&tenant, e);
        if (r == 0)
                r = share_read(&tenant.share, &content, e);
        if (r < 0) {
                tenant_close(&tenant);
                return r;
        }
        owner_read(&tenant);
        devices_take(&tenant, &content);
        *ret_tenant = tenant;
        return 0;
}

void tenant_close(struct tenant *tenant)
{
        if (tenant->wants) {
                futex_set_forget(&tenant->wants->bell);
                guard_remove(tenant->wants);
        }
        guard_remove(tenant->grants);
        guard_remove(tenant->share.file);
        gpu_want_unmap(tenant->wants);
        gpu_grant_unmap(tenant->grants);
        if (tenant->share.file)
                share_close(&tenant->share);
        *tenant = (struct tenant){ 0 };
}

bool tenant_is_stale(const struct tenant *tenant)
{
        char want_path[SHARE_TEXT];

        want_path_of(tenant, want_path);
        return inode_of(want_path) != tenant->inode;
}

void tenant_trim(struct tenant *tenant)
{
        madvise(tenant->share.file, sizeof *tenant->share.file, MADV_DONTNEED);
        madvise(tenant->grants, sizeof *tenant->grants, MADV_DONTNEED);
        madvise(tenant->wants, sizeof *tenant->wants, MADV_DONTNEED);
}

bool tenant_limits_refresh(struct tenant *tenant)
{
        struct share_copy content;

        if (share_generation(&tenant->share) == tenant->generation ||
            share_read(&tenant->share, &content, NULL) < 0)
                return false;
        limits_take(tenant, &content);
        return true;
}

struct timeslices_limits tenant_limits(const struct tenant *tenant, unsigned device)
{
        struct timeslices_limits limits = tenant->devices[device].limits;
        const uint32_t sum = tenant->devices[device].weight_sum;

        if (tenant->is_foreign && sum > WEIGHT_MOST) {
                const uint32_t part = limits.weight * WEIGHT_MOST / sum;

                limits.weight = limits.weight && !part ? 1 : part;
        }
        return limits;
}

/* What it says it holds, and never more than it may. */
static uint64_t bytes_said(const struct tenant *tenant, unsigned device,
                           const _Atomic uint64_t *said)
{
        const uint64_t bytes = atomic_load_explicit(said, memory_order_relaxed);
        const uint64_t limit = tenant->devices[device].limit_bytes;
        const uint64_t charged = tenant->devices[device].charged_bytes;
        const uint64_t most = charged < limit ? charged : limit;

        return bytes < most ? bytes : most;
}

static bool word_read(int fd, unsigned index, uint64_t *ret_bytes)
{
        const size_t offset = offsetof(struct region_file, devices) +
                              index * sizeof(struct region_device) +
                              offsetof(struct region_device, word);
        uint64_t word;

        if (pread(fd, &word, sizeof word, (off_t)offset) != (ssize_t)sizeof word)
                return false;
        *ret_bytes = word_units(word) << REGION_UNIT_BITS;
        return true;
}

/* When it last said something else than before. */
static void said_refresh(struct tenant *tenant, uint64_t now_ns)
{
        for (unsigned i = 0; i < tenant->device_count; i++) {
                const uint64_t bytes = atomic_load_explicit(
                        &tenant->wants->devices[i].resident_bytes, memory_order_relaxed);

                if (bytes == tenant->devices[i].said_bytes)
                        continue;
                tenant->devices[i].said_bytes = bytes;
                tenant->said_ns = now_ns;
        }
}

/* Did it say more of late than it was charged with when that was last read? */
static bool says_more(const struct tenant *tenant)
{
        if (tenant->charged_ns >= tenant->said_ns + SAID_NEW_NS)
                return false;
        for (unsigned i = 0; i < tenant->device_count; i++)
                if (tenant->devices[i].said_bytes > tenant->devices[i].charged_bytes)
                        return true;
        return false;
}

uint64_t tenant_charges_due_ns(const struct tenant *tenant)
{
        return says_more(tenant) ? tenant->charged_ns + CHARGES_SOON_NS : UINT64_MAX;
}

/* Read, not mapped. Without a region nothing is charged, and nothing can be touched. */
void tenant_charges_refresh(struct tenant *tenant, uint64_t now_ns)
{
        char path[SHARE_TEXT];

        said_refresh(tenant, now_ns);
        const uint64_t every_ns = says_more(tenant) ? CHARGES_SOON_NS : NS_PER_S;
        if (tenant->charged_ns && now_ns - tenant->charged_ns < every_ns)
                return;
        tenant->charged_ns = now_ns;
        path_beside(tenant->path, "region", path);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        for (unsigned i = 0; i < tenant->device_count; i++) {
                uint64_t own = 0, virtual = 0;

                if (fd >= 0 && word_read(fd, i, &own))
                        word_read(fd, i + REGION_DEVICES, &virtual);
                tenant->devices[i].charged_bytes = own + virtual;
        }
}

void tenant_report(const struct tenant *tenant, unsigned device,
                   struct timeslices_report *ret_report)
{
        const struct gpu_want *want = &tenant->wants->devices[device];
        const uint32_t number = tenant->devices[device].granted >> GPU_STATE_BITS;
        const uint32_t high = least(atomic_load(&want->slots_high), GPU_SLOTS);
        bool can_submit = false;
        struct timeslices_report report = {
                .signs = tenant->bell_seen + atomic_load(&want->beats),
                .resident_bytes = bytes_said(tenant, device, &want->resident_bytes),
                .movable_bytes = bytes_said(tenant, device, &want->movable_bytes)
        };

        for (uint32_t i = 0; i < high; i++) {
                const uint32_t word = atomic_load(&want->slots[i].state);

                report.busy_ns +=
                        atomic_load_explicit(&want->slots[i].busy_ns, memory_order_relaxed);
                report.wants |= (word & GPU_STATE_MASK) != GPU_IDLE;
                report.is_active |= (word & GPU_STATE_MASK) >= GPU_ACTIVE;
                can_submit |= (word & GPU_STATE_MASK) == GPU_ACTIVE;
                report.has_begun |= word >> GPU_STATE_BITS == number;
                if ((word & GPU_STATE_MASK) >= GPU_ACTIVE)
                        report.done_ns =
                                greatest(report.done_ns, atomic_load(&want->slots[i].done_ns));
        }
        report.begun_ns = atomic_load(&want->begun_ns);
        report.signs += report.busy_ns;
        report.is_draining = report.is_active && !can_submit;
        if (tenant->devices[device].unreported_ns)
                report.observed_ns = report.busy_ns + tenant->devices[device].unreported_ns;
        *ret_report = report;
}

bool tenant_tell(struct tenant *tenant, unsigned device, const struct timeslices_grant *decided)
{
        struct gpu_grant *grant = &tenant->grants->devices[device];
        const enum gpu_grant_state state = decided->is_free   ? GPU_FREE
                                           : decided->is_open ? GPU_OPEN
                                                              : GPU_CLOSED;
        const uint32_t number = tenant->devices[device].number_base + decided->number;
        const uint32_t granted = number << GPU_STATE_BITS | state;

        atomic_store(&grant->flags, decided->is_crowded ? GPU_GRANT_CROWDED : 0);
        atomic_store(&grant->quantum_ns, decided->quantum_ns);
        atomic_store(&grant->in_flight_ns, decided->in_flight_ns);
        const bool is_earlier = atomic_exchange(&grant->not_before_ns, decided->not_before_ns) >
                                decided->not_before_ns;
        /* A holder that ends rings only if it sees a deadline: it may have ended just before. */
        const bool is_recalled = atomic_load(&grant->deadline_ns) != decided->deadline_ns;
        atomic_store(&grant->deadline_ns, decided->deadline_ns);
        if (granted == tenant->devices[device].granted) {
                if (is_earlier)
                        futex_wake_all(&grant->timeslice);
                return is_recalled;
        }
        tenant->devices[device].granted = granted;
        atomic_store(&grant->timeslice, granted);
        futex_wake_all(
                &grant->timeslice); /* those who wait for a time slice, and whoever is to end one */
        return true;
}

void tenant_beat(struct tenant *tenant, unsigned device, const struct timeslices *timeslices,
                 uint64_t now_ns)
{
        struct gpu_grant *grant = &tenant->grants->devices[device];
        const struct timeslices_tenant *t = &timeslices->tenants[tenant->devices[device].id];

        atomic_store(&grant->heartbeat_ns, now_ns);
        atomic_store(&grant->weight, t->weight);
        atomic_store(&grant->cap_ns_per_s, t->limits.cap_ns_per_s);
        atomic_store(&grant->timeslices, t->timeslices);
        atomic_store(&grant->held_ns, t->held_ns);
        atomic_store(&grant->waited_ns, t->waited_ns);
        atomic_store(&grant->charged_ns, t->charged_ns);
        atomic_store(&grant->lapses, t->lapses);
        atomic_store(&grant->swap_ns, timeslices->swap_ns);
        atomic_store(&grant->others_bytes,
                     timeslices_others_bytes(timeslices, tenant->devices[device].id));
}

void tenant_counts(const struct tenant *tenant, unsigned device,
                   struct timeslices_tenant *ret_counts)
{
        const struct gpu_grant *grant = &tenant->grants->devices[device];

        ret_counts->timeslices = atomic_load(&grant->timeslices);
        ret_counts->held_ns = atomic_load(&grant->held_ns);
        ret_counts->waited_ns = atomic_load(&grant->waited_ns);
        ret_counts->charged_ns = atomic_load(&grant->charged_ns);
        ret_counts->lapses = atomic_load(&grant->lapses);
}

void tenant_let_go(struct tenant *tenant)
{
        share_set_timeslices(&tenant->share, false);
        for (unsigned i = 0; i < tenant->device_count; i++) {
                struct gpu_grant *grant = &tenant->grants->devices[i];
                const uint32_t number = (tenant->devices[i].granted >> GPU_STATE_BITS) + 1;

                atomic_store(&grant->not_before_ns, 0);
                atomic_store(&grant->deadline_ns, GPU_NO_DEADLINE);
                atomic_store(&grant->timeslice, number << GPU_STATE_BITS | GPU_FREE);
                futex_wake_all(&grant->timeslice);
        }
}
