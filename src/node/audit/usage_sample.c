/* SPDX-License-Identifier: Apache-2.0 */
/* A container's region beside the driver's figures of its processes. */
#include "usage_sample.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "host_process.h"
#include "quantity.h"
#include "region_check.h"
#include "region_reader.h"
#include "region_view.h"
#include "scope.h"
#include "share_folder.h"

/* What a context takes where nobody knows: none is larger. */
#define CONTEXT_BYTES (UINT64_C(1) << 30)

/* Who is registered in a region. */
struct registered {
        uint64_t key; /* pid_key() */
        uint32_t slot;
};

/* A container's region, and who is registered in it: read once a sample, however many ask. */
struct sample {
        struct region_reader region;
        struct vec pids; /* of struct registered, sorted */
};

/* What a container's processes have on one device. */
struct device_use {
        uint64_t driver_bytes;
        uint64_t exempt_bytes; /* of these, for contexts that need not be in the region */
        unsigned busy_percent;
};

/* By the node's pid, or where that is not known, its own. */
static uint64_t pid_key(bool is_nodes, uint32_t pid)
{
        return (uint64_t)is_nodes << 32 | pid;
}

static int pid_compare(const void *a, const void *b)
{
        const uint64_t x = ((const struct registered *)a)->key,
                       y = ((const struct registered *)b)->key;

        return (x > y) - (x < y);
}

static bool has_process(const struct vec *processes, const struct held_share *held)
{
        for (size_t i = 0; i < processes->count; i++)
                if (((const struct usage_process *)vec_at(processes, i))->held == held)
                        return true;
        return false;
}

/* 0 or -ENOMEM: then who is registered is not known. */
static int pids_read(struct sample *sample)
{
        struct reader_process process = { 0 };
        int r = 0, pushed = 0;

        for (uint32_t i = 1; i <= sample->region.slots_all && r >= 0 && pushed == 0; i++) {
                r = region_reader_process(&sample->region, i, &process);
                const struct registered registered = {
                        .key = process.host_pid ? pid_key(true, process.host_pid)
                                                : pid_key(false, process.pid),
                        .slot = i,
                };

                if (r > 0)
                        pushed = vec_push(&sample->pids, &registered);
        }
        if (sample->pids.count)
                qsort(vec_at(&sample->pids, 0), sample->pids.count, sizeof(struct registered),
                      pid_compare);
        return pushed;
}

static uint32_t slot_of_key(const struct sample *sample, uint64_t key)
{
        const struct registered wanted = { .key = key };
        const struct registered *found =
                sample->pids.count ? bsearch(&wanted, vec_at(&sample->pids, 0), sample->pids.count,
                                             sizeof wanted, pid_compare)
                                   : NULL;

        return found ? found->slot : 0;
}

/* Its slot in the region, by the host's pid or its own; 0: it has none. */
static uint32_t slot_of(const struct sample *sample, uint32_t pid)
{
        const uint32_t slot = slot_of_key(sample, pid_key(true, pid));

        return slot ? slot : slot_of_key(sample, pid_key(false, host_process_innermost(pid)));
}

/* What a context takes, as the region says, and never more than any takes. */
static uint64_t context_bytes(const struct share_device *device, const struct reader_device *said)
{
        const uint64_t bytes = device->context_bytes ? device->context_bytes : said->context_bytes;

        return bytes && bytes < CONTEXT_BYTES ? bytes : CONTEXT_BYTES;
}

/* Process by process: what one does not need for its context hides nothing of another. */
static uint64_t exempt_of(const struct sample *sample, uint32_t slot, unsigned index,
                          uint64_t driver_bytes, uint64_t context)
{
        struct reader_use use = { 0 };

        region_reader_use(&sample->region, slot, index, &use);
        const uint64_t more =
                driver_bytes > use.physical_bytes ? driver_bytes - use.physical_bytes : 0;

        return more < context ? more : context;
}

static void finding_add(struct usage_finding *finding, enum violation violation, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));
static void finding_add(struct usage_finding *finding, enum violation violation, const char *format,
                        ...)
{
        va_list arguments;

        finding->seen |= 1u << violation;
        va_start(arguments, format);
        vsnprintf(finding->sentences[violation], USAGE_SENTENCE, format, arguments);
        va_end(arguments);
}

/* The region's greater figure of two samples counts: the driver's is from between them. */
static void region_compare(struct usage_state *state, unsigned index, const struct device_use *use,
                           uint64_t region_bytes, struct usage_finding *finding)
{
        const uint64_t before_bytes = state->devices[index].region_bytes;
        const uint64_t most_bytes = region_bytes > before_bytes ? region_bytes : before_bytes;
        char driver[QUANTITY_TEXT_BYTES], region[QUANTITY_TEXT_BYTES];

        state->devices[index].region_bytes = region_bytes;
        if (!violation_in_memory(use->driver_bytes, most_bytes, use->exempt_bytes))
                return;
        quantity_format_bytes(use->driver_bytes, driver);
        quantity_format_bytes(region_bytes, region);
        finding_add(finding, VIOLATION_MEMORY, "it holds %s of GPU %u, and its region says %s",
                    driver, index, region);
}

/* Whatever the region says: a tenant can write there what it holds. */
static void limit_compare(struct usage_state *state, unsigned index, const struct device_use *use,
                          struct usage_finding *finding)
{
        const struct share_device *device = &share_current(&state->held->share)->devices[index];
        const uint64_t limit_bytes = device->limit_bytes;
        /* Of a share that was never changed no limit was lowered: what a quick tenant took before its first sample
         * is no leftover. */
        const uint64_t first_bytes =
                share_generation(&state->held->share) > 1 ? use->driver_bytes : 0;
        const uint64_t before_bytes =
                state->is_first ? first_bytes : state->devices[index].allowed_bytes;
        const uint64_t allowed_bytes =
                violation_allowed_bytes(before_bytes, limit_bytes, use->driver_bytes);
        char driver[QUANTITY_TEXT_BYTES], limit[QUANTITY_TEXT_BYTES];

        state->devices[index].allowed_bytes = allowed_bytes;
        if (!violation_in_memory(use->driver_bytes, allowed_bytes, use->exempt_bytes))
                return;
        quantity_format_bytes(use->driver_bytes, driver);
        quantity_format_bytes(limit_bytes, limit);
        finding_add(finding, VIOLATION_MEMORY, "it holds %s of GPU %u, and may hold %s", driver,
                    index, limit);
}

static void compute_check(struct usage_state *state, unsigned index, unsigned driver_percent,
                          uint64_t gpu_ns, uint64_t passed_ns, struct usage_finding *finding)
{
        const uint64_t said_ns =
                gpu_ns > state->devices[index].gpu_ns ? gpu_ns - state->devices[index].gpu_ns : 0;
        const double region = passed_ns ? (double)said_ns / (double)passed_ns : 1;
        const double driver = driver_percent / 100.0;

        state->devices[index].gpu_ns = gpu_ns;
        if (state->is_first || !violation_in_compute(driver, region))
                return;
        finding_add(finding, VIOLATION_COMPUTE,
                    "it uses %.0f %% of GPU %u's time, and its region says %.0f %%", driver * 100,
                    index, region * 100);
        finding->unreported_ns[index] = (uint64_t)((driver - region) * (double)passed_ns);
}

/* What the driver says of the container's processes; who has no slot is reported. */
static void use_read(const struct usage_state *state, unsigned index, const struct vec *processes,
                     const struct sample *sample, uint64_t context, struct device_use *ret_use,
                     struct usage_finding *finding)
{
        const struct share_device *device = &share_current(&state->held->share)->devices[index];
        struct device_use use = { 0 };

        for (size_t i = 0; i < processes->count; i++) {
                const struct usage_process *owned = vec_at(processes, i);

                if (owned->held != state->held || strcmp(owned->process.uuid, device->uuid) != 0)
                        continue;
                const uint32_t slot = slot_of(sample, owned->process.pid);

                use.driver_bytes += owned->process.bytes;
                use.busy_percent += owned->process.busy_percent;
                if (!slot)
                        finding_add(finding, VIOLATION_STRANGER,
                                    "its process %u is on GPU %u and not in its region",
                                    owned->process.pid, index);
                else if (device->flags & SHARE_CONTEXT_EXEMPT)
                        use.exempt_bytes +=
                                exempt_of(sample, slot, index, owned->process.bytes, context);
        }
        *ret_use = use;
}

static void device_check(struct usage_state *state, unsigned index, const struct vec *processes,
                         const struct sample *sample, uint64_t passed_ns,
                         struct usage_finding *finding)
{
        const struct share_device *share = &share_current(&state->held->share)->devices[index];
        struct reader_device device = { 0 };
        struct device_use use;
        const bool is_open = sample->region.compute;
        const int r =
                is_open ? region_reader_device(&sample->region, index, clock_now_ns(), &device) : 0;

        use_read(state, index, processes, sample, context_bytes(share, &device), &use, finding);
        limit_compare(state, index, &use, finding);
        if (r < 0)
                finding_add(finding, VIOLATION_REGION, "its region was truncated");
        if (!is_open || r < 0)
                return;
        region_compare(state, index, &use, device.physical_bytes, finding);
        compute_check(state, index, use.busy_percent, device.gpu_ns, passed_ns, finding);
}

static void integrity_check(const char *path, uint64_t until_ns, struct usage_finding *finding)
{
        const uint64_t own_ns = clock_now_ns() + REGION_CHECK_MS * NS_PER_MS;
        struct region region;

        if (region_view_open(path, &region, NULL) < 0)
                return;
        const enum region_fault fault =
                region_check_all(&region, own_ns < until_ns ? own_ns : until_ns);
        region_view_close(&region);
        if (fault != REGION_INTACT)
                finding_add(finding, VIOLATION_REGION, "its region %s", region_fault_text(fault));
}

/* It was one: none of the container's processes is on a GPU before. What another release made stays one. */
static bool is_no_region(const char *path)
{
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        uint64_t magic = 0;

        return fd >= 0 && pread(fd, &magic, sizeof magic, 0) == sizeof magic &&
               magic != REGION_MAGIC;
}

/* Before others run out of space. */
static void files_check(struct usage_state *state, struct usage_finding *finding)
{
        const uint64_t cut = tenant_watch_take(&state->files, state->held->path);
        char text[QUANTITY_TEXT_BYTES];

        if (!cut)
                return;
        quantity_format_bytes(cut, text);
        finding_add(finding, VIOLATION_REGION, "its region or want page was %s too long", text);
}

void usage_sample(struct usage_state *state, const struct vec *processes, uint64_t passed_ns,
                  uint64_t until_ns, struct usage_finding *ret_finding)
{
        const unsigned count = share_current(&state->held->share)->device_count;
        struct sample sample = { .pids = VEC_OF(struct registered) };
        char path[SHARE_TEXT];

        *ret_finding = (struct usage_finding){ 0 };
        files_check(state, ret_finding);
        share_folder_beside(state->held->path, "region", path);
        int r = region_reader_open(path, &sample.region, NULL);
        const bool is_open = r == 0;
        if (is_open && has_process(processes, state->held))
                r = pids_read(&sample);
        /* Without memory or descriptors of our own nobody is a stranger: nothing is known. A tenant causes no such. */
        const bool is_known = !file_error_is_shortage(r);
        for (unsigned i = 0; is_known && i < count; i++)
                device_check(state, i, processes, &sample, passed_ns, ret_finding);
        if (is_open)
                integrity_check(path, until_ns, ret_finding);
        else if (has_process(processes, state->held) && is_no_region(path))
                finding_add(ret_finding, VIOLATION_REGION,
                            "its region was written into: it is none any more");
        region_reader_close(&sample.region);
        vec_done(&sample.pids);
        if (is_known)
                state->is_first = false;
}
