/* clock_tuning: boost, offsets and monitors: what data centre cards leave as it is. */
#include "target.h"

static nvmlReturn_t not_tunable(nvmlDevice_t device)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetAutoBoostedClocksEnabled(nvmlDevice_t device,
                                                       nvmlEnableState_t *is_enabled,
                                                       nvmlEnableState_t *is_default)
{
        (void)is_enabled, (void)is_default;
        return not_tunable(device);
}

nvmlReturn_t sim_nvmlDeviceSetAutoBoostedClocksEnabled(nvmlDevice_t device,
                                                       nvmlEnableState_t is_enabled)
{
        (void)is_enabled;
        return not_tunable(device);
}

nvmlReturn_t sim_nvmlDeviceSetDefaultAutoBoostedClocksEnabled(nvmlDevice_t device,
                                                              nvmlEnableState_t is_enabled,
                                                              unsigned int flags)
{
        (void)is_enabled, (void)flags;
        return not_tunable(device);
}

nvmlReturn_t sim_nvmlDeviceGetAdaptiveClockInfoStatus(nvmlDevice_t device, unsigned int *status)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, status, &t);

        if (r == NVML_SUCCESS)
                *status = 0;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetClkMonStatus(nvmlDevice_t device, nvmlClkMonStatus_t *status)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, status, &t);

        if (r == NVML_SUCCESS)
                *status = (nvmlClkMonStatus_t){ 0 };
        return r;
}

static nvmlReturn_t give_no_offset(nvmlDevice_t device, int *offset)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, offset, &t);

        if (r == NVML_SUCCESS)
                *offset = 0;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetGpcClkVfOffset(nvmlDevice_t device, int *offset)
{
        return give_no_offset(device, offset);
}

nvmlReturn_t sim_nvmlDeviceGetMemClkVfOffset(nvmlDevice_t device, int *offset)
{
        return give_no_offset(device, offset);
}

static nvmlReturn_t give_no_range(nvmlDevice_t device, int *low, int *high)
{
        nvmlReturn_t r = give_no_offset(device, low);

        return r == NVML_SUCCESS ? give_no_offset(device, high) : r;
}

nvmlReturn_t sim_nvmlDeviceGetGpcClkMinMaxVfOffset(nvmlDevice_t device, int *low, int *high)
{
        return give_no_range(device, low, high);
}

nvmlReturn_t sim_nvmlDeviceGetMemClkMinMaxVfOffset(nvmlDevice_t device, int *low, int *high)
{
        return give_no_range(device, low, high);
}

nvmlReturn_t sim_nvmlDeviceSetGpcClkVfOffset(nvmlDevice_t device, int offset)
{
        (void)offset;
        return not_tunable(device);
}

nvmlReturn_t sim_nvmlDeviceSetMemClkVfOffset(nvmlDevice_t device, int offset)
{
        (void)offset;
        return not_tunable(device);
}

nvmlReturn_t sim_nvmlDeviceGetClockOffsets(nvmlDevice_t device, nvmlClockOffset_t *info)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, info, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (info->version != NVML_VERSION_OF(nvmlClockOffset_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        info->clockOffsetMHz = info->minClockOffsetMHz = info->maxClockOffsetMHz = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceSetClockOffsets(nvmlDevice_t device, nvmlClockOffset_t *info)
{
        (void)info;
        return not_tunable(device);
}
