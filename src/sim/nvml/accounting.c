/* accounting: per-process records of the past; the mode can be set, but nothing is kept. */
#include "target.h"

nvmlReturn_t sim_nvmlDeviceGetAccountingMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, mode, &t);

        if (r == NVML_SUCCESS)
                *mode = (nvmlEnableState_t)t.gpu->accounting_mode;
        return r;
}

nvmlReturn_t sim_nvmlDeviceSetAccountingMode(nvmlDevice_t device, nvmlEnableState_t mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)mode > NVML_FEATURE_ENABLED)
                return NVML_ERROR_INVALID_ARGUMENT;
        t.gpu->accounting_mode = mode;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device, unsigned int *size)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, size, &t);

        if (r == NVML_SUCCESS)
                *size = 4000;
        return r;
}

nvmlReturn_t sim_nvmlDeviceClearAccountingPids(nvmlDevice_t device)
{
        struct target t;

        return target_gpu(device, device, &t);
}

nvmlReturn_t sim_nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned int *count,
                                             unsigned int *pids)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, count, &t);

        (void)pids;
        if (r == NVML_SUCCESS)
                *count = 0;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned int pid,
                                              nvmlAccountingStats_t *stats)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, stats, &t);

        (void)pid;
        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_FOUND;
}
