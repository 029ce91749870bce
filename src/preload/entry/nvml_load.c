/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's figures of load: the container's processes, not the GPU's. */
#include <stddef.h>
#include <string.h>

#include "nvml_usage.h"
#include "nvml_view.h"

nvmlReturn_t hook_nvmlDeviceGetProcessUtilization(nvmlDeviceGetProcessUtilization_fn *real,
                                                  nvmlDevice_t device,
                                                  nvmlProcessUtilizationSample_t *samples,
                                                  unsigned int *count, unsigned long long since)
{
        nvmlProcessUtilizationSample_t *own = NULL;
        nvmlReturn_t r;

        if (!count || !nvml_view_is_limited())
                return real(device, samples, count, since);
        unsigned capacity = *count, found = nvml_usage_samples(real, device, since, &own, &r);
        if (r == NVML_SUCCESS) {
                *count = found;
                if (found == 0)
                        r = NVML_ERROR_NOT_FOUND;
                else if (!samples || found > capacity)
                        r = NVML_ERROR_INSUFFICIENT_SIZE;
                else
                        memcpy(samples, own, found * sizeof *samples);
        }
        nvml_usage_samples_free(own);
        return r;
}

nvmlReturn_t hook_nvmlDeviceGetProcessesUtilizationInfo(
        nvmlDeviceGetProcessesUtilizationInfo_fn *real, nvmlDevice_t device,
        nvmlProcessesUtilizationInfo_t *info)
{
        struct nvml_buffer buffer = { .stride = sizeof *info->procUtilArray,
                                      .pid = offsetof(nvmlProcessUtilizationInfo_v1_t, pid) };

        if (!info || !nvml_view_is_limited())
                return real(device, info);
        if (!nvml_buffer_make(&buffer))
                return NVML_ERROR_MEMORY;
        nvmlProcessesUtilizationInfo_t all = *info;
        all.processSamplesCount = buffer.count;
        all.procUtilArray = buffer.entries;
        nvmlReturn_t r = real(device, &all);
        if (r == NVML_SUCCESS)
                r = nvml_buffer_answer(&buffer, all.processSamplesCount, &info->processSamplesCount,
                                       info->procUtilArray);
        nvml_buffer_done(&buffer);
        return r;
}

/* Of a figure that the driver tells for the GPU alone, as much as of the work is the container's. */
static unsigned own_part(unsigned figure, unsigned own_percent, unsigned all_percent)
{
        unsigned part = own_percent < all_percent ? own_percent : all_percent;

        return all_percent ? figure * part / all_percent : 0;
}

nvmlReturn_t hook_nvmlDeviceGetUtilizationRates(nvmlDeviceGetUtilizationRates_fn *real,
                                                nvmlDevice_t device, nvmlUtilization_t *utilization)
{
        nvmlReturn_t r = real(device, utilization);

        if (r != NVML_SUCCESS || !nvml_view_is_limited())
                return r;
        unsigned all = utilization->gpu, own = nvml_usage_percent(device);
        utilization->memory = own_part(utilization->memory, own, all);
        utilization->gpu = own;
        return r;
}

/* The same figures, and those of the video engines and the bus, in another form. */
nvmlReturn_t hook_nvmlDeviceGetDynamicPstatesInfo(nvmlDeviceGetDynamicPstatesInfo_fn *real,
                                                  nvmlDevice_t device,
                                                  nvmlGpuDynamicPstatesInfo_t *info)
{
        nvmlReturn_t r = real(device, info);

        if (r != NVML_SUCCESS || !nvml_view_is_limited())
                return r;
        unsigned all = info->utilization[0].percentage, own = nvml_usage_percent(device);
        for (unsigned i = 1; i < sizeof info->utilization / sizeof *info->utilization; i++)
                info->utilization[i].percentage =
                        own_part(info->utilization[i].percentage, own, all);
        info->utilization[0].percentage = own;
        return r;
}

/* What a sample of this type is for the container; false: it tells nothing of anybody's load. */
static bool sample_own(nvmlDevice_t device, nvmlSamplingType_t type, unsigned *ret_percent)
{
        switch (type) {
        case NVML_GPU_UTILIZATION_SAMPLES:
        case NVML_MEMORY_UTILIZATION_SAMPLES:
                *ret_percent = nvml_usage_percent(device);
                return true;
        case NVML_ENC_UTILIZATION_SAMPLES:
                *ret_percent = nvml_usage_engine_percent(device, NVML_ENGINE_ENCODER);
                return true;
        case NVML_DEC_UTILIZATION_SAMPLES:
                *ret_percent = nvml_usage_engine_percent(device, NVML_ENGINE_DECODER);
                return true;
        case NVML_JPG_UTILIZATION_SAMPLES:
                *ret_percent = nvml_usage_engine_percent(device, NVML_ENGINE_JPEG);
                return true;
        case NVML_OFA_UTILIZATION_SAMPLES:
                *ret_percent = nvml_usage_engine_percent(device, NVML_ENGINE_OPTICAL_FLOW);
                return true;
        default:
                return false;
        }
}

/* Samples of the GPU's load hold the neighbours' too: each becomes the container's figure. */
nvmlReturn_t hook_nvmlDeviceGetSamples(nvmlDeviceGetSamples_fn *real, nvmlDevice_t device,
                                       nvmlSamplingType_t type, unsigned long long since,
                                       nvmlValueType_t *value_type, unsigned int *count,
                                       nvmlSample_t *samples)
{
        nvmlReturn_t r = real(device, type, since, value_type, count, samples);
        unsigned own;

        if (r != NVML_SUCCESS || !samples || !nvml_view_is_limited())
                return r;
        if (!sample_own(device, type, &own))
                return r;
        for (unsigned i = 0; i < *count; i++)
                samples[i].sampleValue.uiVal = own;
        return r;
}
