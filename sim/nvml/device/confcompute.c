/* SPDX-License-Identifier: Apache-2.0 */
/* confcompute: confidential computing; this machine has none of it, and says so. */
#include "target.h"

nvmlReturn_t sim_nvmlSystemGetConfComputeCapabilities(nvmlConfComputeSystemCaps_t *caps)
{
        if (!caps)
                return NVML_ERROR_INVALID_ARGUMENT;
        *caps = (nvmlConfComputeSystemCaps_t){ 0 };
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state)
{
        if (!state)
                return NVML_ERROR_INVALID_ARGUMENT;
        *state = (nvmlConfComputeSystemState_t){ 0 };
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t *settings)
{
        if (!settings)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (settings->version != NVML_VERSION_OF(nvmlSystemConfComputeSettings_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        *settings = (nvmlSystemConfComputeSettings_t){ .version = settings->version };
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlSystemGetConfComputeGpusReadyState(unsigned int *is_accepting)
{
        if (!is_accepting)
                return NVML_ERROR_INVALID_ARGUMENT;
        *is_accepting = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlSystemSetConfComputeGpusReadyState(unsigned int is_accepting)
{
        (void)is_accepting;
        return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetConfComputeMemSizeInfo(nvmlDevice_t device,
                                                     nvmlConfComputeMemSizeInfo_t *info)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, info, &t);

        if (r == NVML_SUCCESS)
                *info = (nvmlConfComputeMemSizeInfo_t){ .unprotectedMemSizeKib =
                                                                t.gpu->memory_bytes >> 10 };
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetConfComputeProtectedMemoryUsage(nvmlDevice_t device,
                                                              nvmlMemory_t *memory)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, memory, &t);

        if (r == NVML_SUCCESS)
                *memory = (nvmlMemory_t){ 0 };
        return r;
}
