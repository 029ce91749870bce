/* SPDX-License-Identifier: Apache-2.0 */
/* thermal: temperatures, their thresholds, and fans. */
#include "board.h"
#include "load.h"

nvmlReturn_t sim_nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                          unsigned int *celsius)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, celsius, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (sensor != NVML_TEMPERATURE_GPU)
                return NVML_ERROR_INVALID_ARGUMENT;
        load_of_gpu(&t, &load);
        *celsius = load.temperature_c;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
        unsigned celsius = 0;
        nvmlReturn_t r;

        if (!temperature)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (temperature->version != NVML_VERSION_OF(nvmlTemperature_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        r = sim_nvmlDeviceGetTemperature(device, temperature->sensorType, &celsius);
        if (r == NVML_SUCCESS)
                temperature->temperature = (int)celsius;
        return r;
}

/* How far the GPU is from where it would slow down. */
nvmlReturn_t sim_nvmlDeviceGetMarginTemperature(nvmlDevice_t device,
                                                nvmlMarginTemperature_t *margin)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, margin, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (margin->version != NVML_VERSION_OF(nvmlMarginTemperature_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        load_of_gpu(&t, &load);
        margin->marginTemperature = board_of(t.gpu)->max_gpu_c - (int)load.temperature_c;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                                   nvmlTemperatureThresholds_t threshold,
                                                   unsigned int *celsius)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, celsius, &t);
        unsigned value = 0;

        if (r != NVML_SUCCESS)
                return r;
        const struct board *board = board_of(t.gpu);
        switch (threshold) {
        case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN:
                value = board->shutdown_c;
                break;
        case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN:
                value = board->slowdown_c;
                break;
        case NVML_TEMPERATURE_THRESHOLD_MEM_MAX:
                value = board->max_memory_c;
                break;
        case NVML_TEMPERATURE_THRESHOLD_GPU_MAX:
                value = board->max_gpu_c;
                break;
        default:
                if ((unsigned)threshold >= NVML_TEMPERATURE_THRESHOLD_COUNT)
                        return NVML_ERROR_INVALID_ARGUMENT;
        }
        if (value == 0)
                return NVML_ERROR_NOT_SUPPORTED;
        *celsius = value;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceSetTemperatureThreshold(nvmlDevice_t device,
                                                   nvmlTemperatureThresholds_t threshold,
                                                   int *celsius)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, celsius, &t);

        (void)threshold;
        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

enum { CONTROLLER_INTERNAL = 1, SENSOR_OF_GPU = 1 };

nvmlReturn_t sim_nvmlDeviceGetThermalSettings(nvmlDevice_t device, unsigned int sensor,
                                              nvmlGpuThermalSettings_t *settings)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, settings, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (sensor != 0 && sensor != 15)
                return NVML_ERROR_INVALID_ARGUMENT;
        load_of_gpu(&t, &load);
        *settings = (nvmlGpuThermalSettings_t){ .count = 1 };
        settings->sensor[0].controller = CONTROLLER_INTERNAL;
        settings->sensor[0].defaultMaxTemp = board_of(t.gpu)->shutdown_c;
        settings->sensor[0].currentTemp = (int)load.temperature_c;
        settings->sensor[0].target = SENSOR_OF_GPU;
        return NVML_SUCCESS;
}

/* GPUs of servers are cooled by the chassis. */
static nvmlReturn_t target_with_fan(nvmlDevice_t device, unsigned fan, const void *answer,
                                    struct target *ret)
{
        nvmlReturn_t r = target_gpu(device, answer, ret);

        if (r != NVML_SUCCESS)
                return r;
        if (!ret->gpu->has_fan)
                return NVML_ERROR_NOT_SUPPORTED;
        return fan < board_of(ret->gpu)->fan_count ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int fan,
                                          unsigned int *percent)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_with_fan(device, fan, percent, &t);

        if (r != NVML_SUCCESS)
                return r;
        load_of_gpu(&t, &load);
        *percent = 30 + (unsigned)(load.compute * 40);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int *percent)
{
        return sim_nvmlDeviceGetFanSpeed_v2(device, 0, percent);
}

nvmlReturn_t sim_nvmlDeviceGetTargetFanSpeed(nvmlDevice_t device, unsigned int fan,
                                             unsigned int *percent)
{
        return sim_nvmlDeviceGetFanSpeed_v2(device, fan, percent);
}

nvmlReturn_t sim_nvmlDeviceGetFanSpeedRPM(nvmlDevice_t device, nvmlFanSpeedInfo_t *speed)
{
        unsigned percent = 0;
        nvmlReturn_t r;

        if (!speed)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (speed->version != NVML_VERSION_OF(nvmlFanSpeedInfo_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        r = sim_nvmlDeviceGetFanSpeed_v2(device, speed->fan, &percent);
        if (r == NVML_SUCCESS)
                speed->speed = percent * 32;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned int *count)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, count, &t);

        if (r == NVML_SUCCESS)
                *count = t.gpu->has_fan ? board_of(t.gpu)->fan_count : 0;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetMinMaxFanSpeed(nvmlDevice_t device, unsigned int *low,
                                             unsigned int *high)
{
        struct target t;
        nvmlReturn_t r = target_with_fan(device, 0, low, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!high)
                return NVML_ERROR_INVALID_ARGUMENT;
        *low = 30;
        *high = 100;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetFanControlPolicy_v2(nvmlDevice_t device, unsigned int fan,
                                                  nvmlFanControlPolicy_t *policy)
{
        struct target t;
        nvmlReturn_t r = target_with_fan(device, fan, policy, &t);

        if (r == NVML_SUCCESS)
                *policy = NVML_FAN_POLICY_TEMPERATURE_CONTINUOUS;
        return r;
}

nvmlReturn_t sim_nvmlDeviceSetDefaultFanSpeed_v2(nvmlDevice_t device, unsigned int fan)
{
        struct target t;

        return target_with_fan(device, fan, device, &t);
}

/* The fans follow the temperature; nobody steers them by hand. */
static nvmlReturn_t fan_is_automatic(nvmlDevice_t device, unsigned fan)
{
        struct target t;
        nvmlReturn_t r = target_with_fan(device, fan, device, &t);

        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceSetFanSpeed_v2(nvmlDevice_t device, unsigned int fan,
                                          unsigned int percent)
{
        (void)percent;
        return fan_is_automatic(device, fan);
}

nvmlReturn_t sim_nvmlDeviceSetFanControlPolicy(nvmlDevice_t device, unsigned int fan,
                                               nvmlFanControlPolicy_t policy)
{
        if (policy == NVML_FAN_POLICY_TEMPERATURE_CONTINUOUS)
                return sim_nvmlDeviceSetDefaultFanSpeed_v2(device, fan);
        return fan_is_automatic(device, fan);
}

enum { COOLER_VARIABLE = 2, COOLER_OF_GPU = 2 };

nvmlReturn_t sim_nvmlDeviceGetCoolerInfo(nvmlDevice_t device, nvmlCoolerInfo_t *info)
{
        struct target t;
        nvmlReturn_t r;

        if (!info)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (info->version != NVML_VERSION_OF(nvmlCoolerInfo_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        r = target_with_fan(device, info->index, info, &t);
        if (r != NVML_SUCCESS)
                return r;
        info->signalType = COOLER_VARIABLE;
        info->target = COOLER_OF_GPU;
        return NVML_SUCCESS;
}
