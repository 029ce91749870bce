/* SPDX-License-Identifier: Apache-2.0 */
/* power: draw, limits, energy. */
#include "board.h"
#include "load.h"
#include "preset.h"

static unsigned default_limit_mw(const struct machine_gpu *gpu)
{
        const struct preset *preset = preset_find(gpu->preset);

        return preset ? preset->gpu.power_limit_mw : gpu->power_limit_mw;
}

nvmlReturn_t sim_nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power_mw)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, power_mw, &t);

        if (r != NVML_SUCCESS)
                return r;
        load_of_gpu(&t, &load);
        *power_mw = load.power_mw;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, mode, &t);

        if (r == NVML_SUCCESS)
                *mode = NVML_FEATURE_ENABLED;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *limit_mw)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, limit_mw, &t);

        if (r == NVML_SUCCESS)
                *limit_mw = t.gpu->power_limit_mw;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit_mw)
{
        return sim_nvmlDeviceGetPowerManagementLimit(device, limit_mw);
}

nvmlReturn_t sim_nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device,
                                                          unsigned int *limit_mw)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, limit_mw, &t);

        if (r == NVML_SUCCESS)
                *limit_mw = default_limit_mw(t.gpu);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device,
                                                              unsigned int *min_mw,
                                                              unsigned int *max_mw)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, min_mw, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!max_mw)
                return NVML_ERROR_INVALID_ARGUMENT;
        *min_mw = board_of(t.gpu)->min_power_w * 1000u;
        *max_mw = board_of(t.gpu)->max_power_w * 1000u;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int limit_mw)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (limit_mw < board_of(t.gpu)->min_power_w * 1000u ||
            limit_mw > board_of(t.gpu)->max_power_w * 1000u)
                return NVML_ERROR_INVALID_ARGUMENT;
        t.gpu->power_limit_mw = limit_mw;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device,
                                                      nvmlPowerValue_v2_t *value)
{
        if (!value)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (value->version != NVML_VERSION_OF(nvmlPowerValue_v2_t, 2))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (value->powerScope != 0)
                return NVML_ERROR_NOT_SUPPORTED;
        return sim_nvmlDeviceSetPowerManagementLimit(device, value->powerValueMw);
}

nvmlReturn_t sim_nvmlDeviceGetPowerSource(nvmlDevice_t device, nvmlPowerSource_t *source)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, source, &t);

        if (r == NVML_SUCCESS)
                *source = NVML_POWER_SOURCE_AC;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetPowerState(nvmlDevice_t device, nvmlPstates_t *state)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, state, &t);

        if (r != NVML_SUCCESS)
                return r;
        load_of_gpu(&t, &load);
        *state = (nvmlPstates_t)load.pstate;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *mj)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, mj, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (t.gpu->architecture < NVML_DEVICE_ARCH_VOLTA)
                return NVML_ERROR_NOT_SUPPORTED;
        *mj = load_energy_mj(&t);
        return NVML_SUCCESS;
}

/* The machine never gets too hot and never lacks power. */
nvmlReturn_t sim_nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                              nvmlViolationTime_t *time)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, time, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)policy >= NVML_PERF_POLICY_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        time->referenceTime = machine_now_ns(t.machine);
        time->violationTime = 0;
        return NVML_SUCCESS;
}
