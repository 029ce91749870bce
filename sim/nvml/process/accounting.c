/* SPDX-License-Identifier: Apache-2.0 */
/* accounting: per-process records; the living while the mode is set, nothing of the dead. */
#include "process_list.h"

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
        struct vec list = VEC_OF(struct process);
        struct target t;
        nvmlReturn_t r = target_gpu(device, count, &t);

        if (r == NVML_SUCCESS && t.gpu->accounting_mode)
                r = process_list(&t, &list);
        if (r == NVML_SUCCESS && target_list_fits(count, (unsigned)list.count, pids, &r))
                for (size_t i = 0; i < list.count; i++)
                        pids[i] = ((const struct process *)vec_at(&list, i))->pid;
        vec_done(&list);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned int pid,
                                              nvmlAccountingStats_t *stats)
{
        struct vec list = VEC_OF(struct process);
        struct target t;
        nvmlReturn_t r = target_gpu(device, stats, &t);

        if (r == NVML_SUCCESS && t.gpu->accounting_mode)
                r = process_list(&t, &list);
        if (r != NVML_SUCCESS)
                return r;
        r = NVML_ERROR_NOT_FOUND;
        for (size_t i = 0; i < list.count; i++) {
                const struct process *process = vec_at(&list, i);
                if (process->pid != pid)
                        continue;
                *stats =
                        (nvmlAccountingStats_t){ .maxMemoryUsage = process->bytes, .isRunning = 1 };
                r = NVML_SUCCESS;
        }
        vec_done(&list);
        return r;
}
