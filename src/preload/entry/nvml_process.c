/* SPDX-License-Identifier: Apache-2.0 */
/* What NVML tells of processes: the container's own. Lists that are all alike are generated (`list` in
 * api/nvml.tbl). */
#include <stddef.h>

#include "identity.h"
#include "nvml_view.h"

nvmlReturn_t hook_nvmlDeviceGetRunningProcessDetailList(
        nvmlDeviceGetRunningProcessDetailList_fn *real, nvmlDevice_t device,
        nvmlProcessDetailList_t *list)
{
        struct nvml_buffer buffer = { .stride = sizeof *list->procArray,
                                      .pid = offsetof(nvmlProcessDetail_v1_t, pid) };

        if (!list || !nvml_view_is_limited())
                return real(device, list);
        if (!nvml_buffer_make(&buffer))
                return NVML_ERROR_MEMORY;
        nvmlProcessDetailList_t all = *list;
        all.numProcArrayEntries = buffer.count;
        all.procArray = buffer.entries;
        nvmlReturn_t r = real(device, &all);
        if (r == NVML_SUCCESS)
                r = nvml_buffer_answer(&buffer, all.numProcArrayEntries, &list->numProcArrayEntries,
                                       list->procArray);
        nvml_buffer_done(&buffer);
        return r;
}

nvmlReturn_t hook_nvmlDeviceGetAccountingStats(nvmlDeviceGetAccountingStats_fn *real,
                                               nvmlDevice_t device, unsigned int pid,
                                               nvmlAccountingStats_t *stats)
{
        if (!nvml_view_is_limited())
                return real(device, pid, stats);
        unsigned driver_pid = identity_driver_pid(pid);
        return driver_pid ? real(device, driver_pid, stats) : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t hook_nvmlSystemGetProcessName(nvmlSystemGetProcessName_fn *real, unsigned int pid,
                                           char *name, unsigned int length)
{
        if (!nvml_view_is_limited())
                return real(pid, name, length);
        unsigned driver_pid = identity_driver_pid(pid);
        return driver_pid ? real(driver_pid, name, length) : NVML_ERROR_NOT_FOUND;
}
