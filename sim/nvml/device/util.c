/* SPDX-License-Identifier: Apache-2.0 */
/* util: how busy the engines are. */
#include <time.h>

#include "board.h"
#include "load.h"
#include "timeline.h"

enum { SAMPLING_PERIOD_US = 167000 };

nvmlReturn_t sim_nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_any(device, rates, &t);

        if (r != NVML_SUCCESS)
                return r;
        /* Neither a GPU that is cut nor its parts tell: that is what GPM is for. */
        if (t.gpu->mig_mode)
                return NVML_ERROR_NOT_SUPPORTED;
        load_of_gpu(&t, &load);
        rates->gpu = load_percent(load.compute);
        rates->memory = load_memory_percent(&load);
        return NVML_SUCCESS;
}

static nvmlReturn_t give_video(nvmlDevice_t device, unsigned *percent, unsigned *period_us)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_any(device, percent, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!period_us)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (t.gpu->mig_mode)
                return NVML_ERROR_NOT_SUPPORTED;
        load_of_gpu(&t, &load);
        *percent = load_video_percent(load_percent(load.compute));
        *period_us = SAMPLING_PERIOD_US;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int *percent,
                                                 unsigned int *period_us)
{
        return give_video(device, percent, period_us);
}

nvmlReturn_t sim_nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int *percent,
                                                 unsigned int *period_us)
{
        return give_video(device, percent, period_us);
}

nvmlReturn_t sim_nvmlDeviceGetJpgUtilization(nvmlDevice_t device, unsigned int *percent,
                                             unsigned int *period_us)
{
        return give_video(device, percent, period_us);
}

nvmlReturn_t sim_nvmlDeviceGetOfaUtilization(nvmlDevice_t device, unsigned int *percent,
                                             unsigned int *period_us)
{
        return give_video(device, percent, period_us);
}

nvmlReturn_t sim_nvmlDeviceGetEncoderCapacity(nvmlDevice_t device, nvmlEncoderType_t type,
                                              unsigned int *percent)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, percent, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)type > NVML_ENCODER_QUERY_AV1)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!board_of(t.gpu)->encoders ||
            (type == NVML_ENCODER_QUERY_AV1 && t.gpu->architecture < NVML_DEVICE_ARCH_ADA))
                return NVML_ERROR_NOT_SUPPORTED;
        *percent = 100;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetDynamicPstatesInfo(nvmlDevice_t device,
                                                 nvmlGpuDynamicPstatesInfo_t *info)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, info, &t);

        if (r != NVML_SUCCESS)
                return r;
        load_of_gpu(&t, &load);
        *info = (nvmlGpuDynamicPstatesInfo_t){ .flags = 1 };
        const unsigned percent[] = {
                load_percent(load.compute),
                load_memory_percent(&load),
                0,
                load_percent((load.in + load.out) / 2),
        };
        for (unsigned i = 0; i < sizeof percent / sizeof percent[0]; i++) {
                info->utilization[i].bIsPresent = 1;
                info->utilization[i].percentage = percent[i];
        }
        return NVML_SUCCESS;
}

static unsigned long long now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

/* The value of one moment of the past, given how busy the GPU was then. */
static bool sample_value(const struct target *t, nvmlSamplingType_t type, double share,
                         unsigned *ret_value)
{
        const struct machine_gpu *gpu = t->gpu;

        switch (type) {
        case NVML_TOTAL_POWER_SAMPLES:
        case NVML_MODULE_POWER_SAMPLES:
                *ret_value = gpu->power_idle_mw +
                             (unsigned)(share * 0.9 * (gpu->power_limit_mw - gpu->power_idle_mw));
                return true;
        case NVML_GPU_UTILIZATION_SAMPLES:
                *ret_value = load_percent(share);
                return true;
        case NVML_MEMORY_UTILIZATION_SAMPLES:
                *ret_value = load_percent(share * 0.4);
                return true;
        case NVML_PROCESSOR_CLK_SAMPLES:
                *ret_value = share > 0 ? gpu->sm_clock_mhz : board_of(gpu)->idle_sm_mhz;
                return true;
        case NVML_MEMORY_CLK_SAMPLES:
                *ret_value = share > 0 ? gpu->memory_clock_mhz : board_of(gpu)->idle_memory_mhz;
                return true;
        case NVML_ENC_UTILIZATION_SAMPLES:
        case NVML_DEC_UTILIZATION_SAMPLES:
        case NVML_JPG_UTILIZATION_SAMPLES:
        case NVML_OFA_UTILIZATION_SAMPLES:
                *ret_value = load_video_percent(load_percent(share));
                return true;
        default:
                return false;
        }
}

/* The busy share of one complete bucket of history. */
static double bucket_share(const struct target *t, uint64_t index)
{
        const struct machine_bucket *bucket = &machine_unit(t->machine, t->unit)
                                                       ->engines[ENGINE_COMPUTE]
                                                       .buckets[index % MACHINE_BUCKETS];
        double share = (double)bucket->busy_ns / (double)MACHINE_BUCKET_NS;

        return bucket->index != index ? 0 : share > 1 ? 1 : share;
}

/* Samples every 20 ms of the last second, oldest first, that the caller has not seen. */
nvmlReturn_t sim_nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
                                      unsigned long long last_seen_us, nvmlValueType_t *value_type,
                                      unsigned int *count, nvmlSample_t *samples)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, count, &t);
        unsigned value, given = 0;

        if (r != NVML_SUCCESS)
                return r;
        if (!value_type || !sample_value(&t, type, 0, &value))
                return NVML_ERROR_INVALID_ARGUMENT;
        if (t.gpu->mig_mode)
                return NVML_ERROR_NOT_SUPPORTED;
        timeline_advance(t.machine, t.unit);
        uint64_t newest = machine_now_ns(t.machine) / MACHINE_BUCKET_NS;
        *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
        for (unsigned back = MACHINE_BUCKETS - 1; back > 0; back--) {
                unsigned long long age_us =
                        machine_real_ns(t.machine, back * MACHINE_BUCKET_NS) / 1000;
                unsigned long long stamp_us = now_us() - age_us;
                if (back > newest || stamp_us <= last_seen_us)
                        continue;
                if (samples && given < *count) {
                        sample_value(&t, type, bucket_share(&t, newest - back), &value);
                        samples[given] =
                                (nvmlSample_t){ .timeStamp = stamp_us, .sampleValue.uiVal = value };
                } else if (samples) {
                        break;
                }
                given++;
        }
        *count = samples ? given : MACHINE_BUCKETS;
        return given || !samples ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
