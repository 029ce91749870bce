/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_usage: sums over the container's own processes. */
#include "nvml_usage.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"
#include "gate_compute.h"
#include "gpu_usage.h"
#include "ledger.h"
#include "nvml_view.h"
#include "real.h"

enum { SAMPLES_MOST = 4096, BUSY_SAMPLES = 64, WINDOW_MS = 1000 };

unsigned nvml_usage_samples(nvmlDeviceGetProcessUtilization_fn *real, nvmlDevice_t device,
                            unsigned long long since, nvmlProcessUtilizationSample_t **ret_samples,
                            nvmlReturn_t *ret_result)
{
        unsigned count = SAMPLES_MOST;
        nvmlProcessUtilizationSample_t *samples =
                mmap(NULL, SAMPLES_MOST * sizeof *samples, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (samples == MAP_FAILED) {
                *ret_result = NVML_ERROR_MEMORY;
                return 0;
        }
        *ret_samples = samples;
        *ret_result = real(device, samples, &count, since);
        if (*ret_result != NVML_SUCCESS)
                return 0;
        return nvml_view_keep_own(samples, count, sizeof *samples,
                                  offsetof(nvmlProcessUtilizationSample_t, pid));
}

void nvml_usage_samples_free(nvmlProcessUtilizationSample_t *samples)
{
        if (samples)
                munmap(samples, SAMPLES_MOST * sizeof *samples);
}

/* The sum over the container's processes of the figure at this offset in a sample, at most 100. */
static unsigned samples_sum(nvmlDevice_t device, size_t offset)
{
        nvmlProcessUtilizationSample_t *samples = NULL;
        nvmlReturn_t r;
        unsigned sum = 0;

        if (!real_nvml.nvmlDeviceGetProcessUtilization)
                return 0;
        unsigned count = nvml_usage_samples(real_nvml.nvmlDeviceGetProcessUtilization, device, 0,
                                            &samples, &r);
        for (unsigned i = 0; i < count; i++)
                sum += *(const unsigned *)((const char *)&samples[i] + offset);
        nvml_usage_samples_free(samples);
        return sum > 100 ? 100 : sum;
}

/* By the clock of the driver's samples. */
static unsigned long long window_begin_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000 -
               WINDOW_MS * 1000ull;
}

static unsigned sm_sum(const nvmlProcessUtilizationSample_t *samples, unsigned count)
{
        unsigned sum = 0;

        for (unsigned i = 0; i < count; i++)
                sum += samples[i].smUtil <= 100 ? samples[i].smUtil : 0;
        return sum;
}

static unsigned positive(const nvmlProcessUtilizationSample_t *samples, unsigned count)
{
        unsigned found = 0;

        for (unsigned i = 0; i < count; i++)
                found += samples[i].smUtil > 0 && samples[i].smUtil <= 100;
        return found;
}

/* What the driver tells of this second, process by process. */
static void told_read(nvmlDevice_t device, struct gpu_usage *gpu, struct gpu_usage_part *part)
{
        unsigned count = SAMPLES_MOST;
        nvmlProcessUtilizationSample_t *samples =
                mmap(NULL, SAMPLES_MOST * sizeof *samples, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (samples == MAP_FAILED)
                return;
        nvmlReturn_t r = real_nvml.nvmlDeviceGetProcessUtilization(device, samples, &count,
                                                                   window_begin_us());
        gpu->is_told = r == NVML_SUCCESS || r == NVML_ERROR_NOT_FOUND;
        if (r != NVML_SUCCESS)
                count = 0;
        gpu->outside = sm_sum(samples, count);
        gpu->rounded = positive(samples, count);
        const unsigned own = nvml_view_keep_own(samples, count, sizeof *samples,
                                                offsetof(nvmlProcessUtilizationSample_t, pid));
        part->rounded = positive(samples, own);
        part->told = sm_sum(samples, own);
        gpu->rounded -= part->rounded;
        gpu->outside -= part->told;
        nvml_usage_samples_free(samples);
}

/* The whole GPU's, of the same second: its samples, on average. */
static void busy_read(nvmlDevice_t device, struct gpu_usage *gpu)
{
        nvmlSample_t samples[BUSY_SAMPLES];
        unsigned count = BUSY_SAMPLES;
        nvmlValueType_t type;
        double sum = 0;

        if (!real_nvml.nvmlDeviceGetSamples ||
            real_nvml.nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, window_begin_us(),
                                           &type, &count, samples) != NVML_SUCCESS ||
            type != NVML_VALUE_TYPE_UNSIGNED_INT || !count || count > BUSY_SAMPLES)
                return;
        for (unsigned i = 0; i < count; i++)
                sum += samples[i].sampleValue.uiVal;
        gpu->busy = sum / count < 100 ? sum / count : 100;
        gpu->is_busy_told = true;
}

/* Are the pids known by which the driver tells of those who worked? */
static bool pids_are_known(const struct region *region, unsigned device_index)
{
        const uint32_t high = region_slots_high(region);

        for (uint32_t i = 1; i <= high; i++) {
                const struct region_slot *slot = &region->file->slots[i];

                if ((atomic_load(&slot->state) & 0xff) == REGION_LIVE &&
                    atomic_load(&slot->gpu_ns[device_index]) && !atomic_load(&slot->host_pid))
                        return false;
        }
        return true;
}

static unsigned shared_percent(nvmlDevice_t device, unsigned device_index)
{
        const int saved_errno = errno;
        const bool is_limited = gate_compute_is_limited(device_index);
        const struct region *region = ledger_region();
        struct gpu_usage gpu = { 0 };
        struct gpu_usage_part part = { .is_unlimited = !is_limited };

        if (is_limited)
                part.own = gate_compute_load_percent(device_index);
        /* A process that died a moment ago is found now, or was found since. */
        ledger_reap_every(10 * NS_PER_MS);
        /* Others may be hidden in here: what is left may be theirs, and only the region bounds what is not. */
        part.has_ended = is_limited && clock_now_ns() - atomic_load(&region->file->ended_ns) <
                                               2 * WINDOW_MS * NS_PER_MS;
        if (real_nvml.nvmlDeviceGetProcessUtilization && pids_are_known(region, device_index))
                told_read(device, &gpu, &part);
        if (gpu.is_told)
                busy_read(device, &gpu);
        gpu_usage_split(&gpu, &part, 1);
        errno = saved_errno;
        return (unsigned)(part.used + 0.5);
}

unsigned nvml_usage_percent(nvmlDevice_t device)
{
        int device_index = nvml_view_device_index(device);

        if (device_index >= 0 && ledger_is_open())
                return shared_percent(device, (unsigned)device_index);
        return samples_sum(device, offsetof(nvmlProcessUtilizationSample_t, smUtil));
}

/* Only the newer of the driver's two lists has these engines. */
static unsigned details_sum(nvmlDevice_t device, size_t offset)
{
        struct nvml_buffer buffer = { .stride = sizeof(nvmlProcessUtilizationInfo_v1_t),
                                      .pid = offsetof(nvmlProcessUtilizationInfo_v1_t, pid) };
        unsigned sum = 0;

        if (!real_nvml.nvmlDeviceGetProcessesUtilizationInfo || !nvml_buffer_make(&buffer))
                return 0;
        nvmlProcessesUtilizationInfo_t info = {
                .version = NVML_VERSION_OF(nvmlProcessesUtilizationInfo_t, 1),
                .processSamplesCount = buffer.count,
                .procUtilArray = buffer.entries,
        };
        unsigned own = 0;
        if (real_nvml.nvmlDeviceGetProcessesUtilizationInfo(device, &info) == NVML_SUCCESS)
                own = nvml_view_keep_own(buffer.entries, info.processSamplesCount, buffer.stride,
                                         buffer.pid);
        for (unsigned i = 0; i < own; i++)
                sum += *(const unsigned *)((const char *)buffer.entries + i * buffer.stride +
                                           offset);
        nvml_buffer_done(&buffer);
        return sum > 100 ? 100 : sum;
}

unsigned nvml_usage_engine_percent(nvmlDevice_t device, enum nvml_engine engine)
{
        switch (engine) {
        case NVML_ENGINE_ENCODER:
                return samples_sum(device, offsetof(nvmlProcessUtilizationSample_t, encUtil));
        case NVML_ENGINE_DECODER:
                return samples_sum(device, offsetof(nvmlProcessUtilizationSample_t, decUtil));
        case NVML_ENGINE_JPEG:
                return details_sum(device, offsetof(nvmlProcessUtilizationInfo_v1_t, jpgUtil));
        default:
                return details_sum(device, offsetof(nvmlProcessUtilizationInfo_v1_t, ofaUtil));
        }
}
