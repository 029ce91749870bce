/* SPDX-License-Identifier: Apache-2.0 */
/* A container's region beside the driver's figures of its processes. */
#include "usage_sample.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "host_process.h"
#include "quantity.h"
#include "region_check.h"
#include "region_reader.h"
#include "region_view.h"
#include "share_folder.h"

/* What a context takes where nobody knows: none is larger. */
#define CONTEXT_BYTES (UINT64_C(1) << 30)

/* A container's region, and who is registered in it: read once a sample, however many ask. */
struct sample {
        struct region_reader region;
        struct vec pids; /* of uint64_t, sorted */
};

/* By the node's pid, or where that is not known, its own. */
static uint64_t pid_key(bool is_nodes, uint32_t pid)
{
        return (uint64_t)is_nodes << 32 | pid;
}

static int pid_compare(const void *a, const void *b)
{
        const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

static bool has_process(const struct vec *processes, const struct held_share *held)
{
        for (size_t i = 0; i < processes->count; i++)
                if (((const struct usage_process *)vec_at(processes, i))->held == held)
                        return true;
        return false;
}

static void pids_read(struct sample *sample)
{
        struct reader_process process = { 0 };
        int r = 0;

        for (uint32_t i = 1; i <= sample->region.slots_all && r >= 0; i++) {
                r = region_reader_process(&sample->region, i, &process);
                const uint64_t index = process.host_pid ? pid_key(true, process.host_pid)
                                                        : pid_key(false, process.pid);

                if (r > 0)
                        vec_push(&sample->pids, &index);
        }
        if (sample->pids.count)
                qsort(vec_at(&sample->pids, 0), sample->pids.count, sizeof(uint64_t), pid_compare);
}

static bool has_pid(const struct sample *sample, uint64_t index)
{
        return sample->pids.count && bsearch(&index, vec_at(&sample->pids, 0), sample->pids.count,
                                             sizeof(uint64_t), pid_compare);
}

/* Is it registered in the region, under the host's pid or its own? */
static bool is_in_region(const struct sample *sample, uint32_t pid)
{
        return has_pid(sample, pid_key(true, pid)) ||
               has_pid(sample, pid_key(false, host_process_innermost(pid)));
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

static void memory_check(const struct usage_state *state, unsigned index, uint64_t driver_bytes,
                         uint64_t region_bytes, unsigned processes, struct usage_finding *finding)
{
        const struct share_device *device = &share_current(&state->held->share)->devices[index];
        const uint64_t context = device->context_bytes ? device->context_bytes : CONTEXT_BYTES;
        const uint64_t exempt = device->flags & SHARE_CONTEXT_EXEMPT ? processes * context : 0;
        char driver[QUANTITY_TEXT_BYTES], region[QUANTITY_TEXT_BYTES];

        if (!violation_in_memory(driver_bytes, region_bytes, exempt))
                return;
        quantity_format_bytes(driver_bytes, driver);
        quantity_format_bytes(region_bytes, region);
        finding_add(finding, VIOLATION_MEMORY, "it holds %s of GPU %u, and its region says %s",
                    driver, index, region);
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

static void device_check(struct usage_state *state, unsigned index, const struct vec *processes,
                         const struct sample *sample, uint64_t passed_ns,
                         struct usage_finding *finding)
{
        const char *uuid = share_current(&state->held->share)->devices[index].uuid;
        struct reader_device device = { 0 };
        unsigned count = 0, busy_percent = 0;
        uint64_t bytes = 0;

        for (size_t i = 0; i < processes->count; i++) {
                const struct usage_process *owned = vec_at(processes, i);

                if (owned->held != state->held || strcmp(owned->process.uuid, uuid) != 0)
                        continue;
                bytes += owned->process.bytes;
                busy_percent += owned->process.busy_percent;
                if (is_in_region(sample, owned->process.pid))
                        count++; /* nobody else's context is exempt */
                else
                        finding_add(finding, VIOLATION_STRANGER,
                                    "its process %u is on GPU %u and not in its region",
                                    owned->process.pid, index);
        }
        if (!sample->region.compute)
                return;
        if (region_reader_device(&sample->region, index, clock_now_ns(), &device) < 0) {
                finding_add(finding, VIOLATION_REGION, "its region was truncated");
                return;
        }
        memory_check(state, index, bytes, device.physical_bytes, count, finding);
        compute_check(state, index, busy_percent, device.gpu_ns, passed_ns, finding);
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

void usage_sample(struct usage_state *state, const struct vec *processes, uint64_t passed_ns,
                  uint64_t until_ns, struct usage_finding *ret_finding)
{
        const unsigned count = share_current(&state->held->share)->device_count;
        struct sample sample = { .pids = VEC_OF(uint64_t) };
        char path[SHARE_TEXT];

        *ret_finding = (struct usage_finding){ 0 };
        share_folder_beside(state->held->path, "region", path);
        const bool is_open = region_reader_open(path, &sample.region, NULL) == 0;
        if (is_open && has_process(processes, state->held))
                pids_read(&sample);
        for (unsigned i = 0; i < count; i++)
                device_check(state, i, processes, &sample, passed_ns, ret_finding);
        if (is_open)
                integrity_check(path, until_ns, ret_finding);
        region_reader_close(&sample.region);
        vec_done(&sample.pids);
        state->is_first = false;
}
