/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_usage: sums over the container's own processes. */
#include "nvml_usage.h"

#include <sys/mman.h>

#include "gate_compute.h"
#include "nvml_view.h"
#include "real.h"

enum { SAMPLES_MOST = 4096 };

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

unsigned nvml_usage_percent(nvmlDevice_t device)
{
        int device_index = nvml_view_device_index(device);

        if (device_index >= 0 && gate_compute_is_limited((unsigned)device_index))
                return gate_compute_load_percent((unsigned)device_index);
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
