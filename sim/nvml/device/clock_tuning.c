/* SPDX-License-Identifier: Apache-2.0 */
/* clock_tuning: boost, offsets and monitors: what data centre GPUs leave as it is. */
#include "board.h"
#include "target.h"

static nvmlReturn_t not_tunable(nvmlDevice_t device)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

/* Only GPUs before Pascal: later ones boost whenever no application clocks are set. */
static nvmlReturn_t auto_boost_target(nvmlDevice_t device, const void *answer,
                                      struct target *ret_target)
{
        nvmlReturn_t r = target_gpu(device, answer, ret_target);

        if (r == NVML_SUCCESS && !board_of(ret_target->gpu)->has_auto_boost)
                r = NVML_ERROR_NOT_SUPPORTED;
        return r;
}

static nvmlEnableState_t auto_boost_state(const struct machine_gpu *gpu, uint32_t bit)
{
        return gpu->auto_boost_off & bit ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
}

nvmlReturn_t sim_nvmlDeviceGetAutoBoostedClocksEnabled(nvmlDevice_t device,
                                                       nvmlEnableState_t *is_enabled,
                                                       nvmlEnableState_t *is_default)
{
        struct target t;
        nvmlReturn_t r = auto_boost_target(device, is_enabled, &t);

        if (r != NVML_SUCCESS)
                return r;
        *is_enabled = auto_boost_state(t.gpu, AUTO_BOOST_NOW);
        if (is_default)
                *is_default = auto_boost_state(t.gpu, AUTO_BOOST_DEFAULT);
        return NVML_SUCCESS;
}

static nvmlReturn_t auto_boost_set(nvmlDevice_t device, nvmlEnableState_t is_enabled, uint32_t bit)
{
        struct target t;
        nvmlReturn_t r = auto_boost_target(device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)is_enabled > NVML_FEATURE_ENABLED)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (is_enabled)
                __atomic_fetch_and(&t.gpu->auto_boost_off, ~bit, __ATOMIC_RELAXED);
        else
                __atomic_fetch_or(&t.gpu->auto_boost_off, bit, __ATOMIC_RELAXED);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceSetAutoBoostedClocksEnabled(nvmlDevice_t device,
                                                       nvmlEnableState_t is_enabled)
{
        return auto_boost_set(device, is_enabled, AUTO_BOOST_NOW);
}

nvmlReturn_t sim_nvmlDeviceSetDefaultAutoBoostedClocksEnabled(nvmlDevice_t device,
                                                              nvmlEnableState_t is_enabled,
                                                              unsigned int flags)
{
        (void)flags;
        return auto_boost_set(device, is_enabled, AUTO_BOOST_DEFAULT);
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
