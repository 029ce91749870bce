/* NVML's lists of processes: the container's own, in every version of the lists. */
#include <stddef.h>

#include "identity.h"
#include "nvml_view.h"
#include "start.h"

nvmlReturn_t hook_nvmlDeviceGetComputeRunningProcesses(
        nvmlDeviceGetComputeRunningProcesses_fn *real, nvmlDevice_t device, unsigned int *count,
        nvmlProcessInfo_v1_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetComputeRunningProcesses_v2(
        nvmlDeviceGetComputeRunningProcesses_v2_fn *real, nvmlDevice_t device, unsigned int *count,
        nvmlProcessInfo_v2_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetComputeRunningProcesses_v3(
        nvmlDeviceGetComputeRunningProcesses_v3_fn *real, nvmlDevice_t device, unsigned int *count,
        nvmlProcessInfo_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetGraphicsRunningProcesses(
        nvmlDeviceGetGraphicsRunningProcesses_fn *real, nvmlDevice_t device, unsigned int *count,
        nvmlProcessInfo_v1_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetGraphicsRunningProcesses_v2(
        nvmlDeviceGetGraphicsRunningProcesses_v2_fn *real, nvmlDevice_t device, unsigned int *count,
        nvmlProcessInfo_v2_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetGraphicsRunningProcesses_v3(
        nvmlDeviceGetGraphicsRunningProcesses_v3_fn *real, nvmlDevice_t device, unsigned int *count,
        nvmlProcessInfo_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetMPSComputeRunningProcesses(
        nvmlDeviceGetMPSComputeRunningProcesses_fn *real, nvmlDevice_t device, unsigned int *count,
        nvmlProcessInfo_v1_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetMPSComputeRunningProcesses_v2(
        nvmlDeviceGetMPSComputeRunningProcesses_v2_fn *real, nvmlDevice_t device,
        unsigned int *count, nvmlProcessInfo_v2_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetMPSComputeRunningProcesses_v3(
        nvmlDeviceGetMPSComputeRunningProcesses_v3_fn *real, nvmlDevice_t device,
        unsigned int *count, nvmlProcessInfo_t *entries)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, entries,
                              sizeof *entries);
}

nvmlReturn_t hook_nvmlDeviceGetRunningProcessDetailList(
        nvmlDeviceGetRunningProcessDetailList_fn *real, nvmlDevice_t device,
        nvmlProcessDetailList_t *list)
{
        struct nvml_room room = { .stride = sizeof *list->procArray,
                                  .pid = offsetof(nvmlProcessDetail_v1_t, pid) };

        if (!list || !nvml_view_is_limited())
                return real(device, list);
        if (!nvml_room_make(&room))
                return NVML_ERROR_MEMORY;
        nvmlProcessDetailList_t all = *list;
        all.numProcArrayEntries = room.count;
        all.procArray = room.entries;
        nvmlReturn_t r = real(device, &all);
        if (r == NVML_SUCCESS)
                r = nvml_room_answer(&room, all.numProcArrayEntries, &list->numProcArrayEntries,
                                     list->procArray);
        nvml_room_done(&room);
        return r;
}

nvmlReturn_t hook_nvmlDeviceGetAccountingPids(nvmlDeviceGetAccountingPids_fn *real,
                                              nvmlDevice_t device, unsigned int *count,
                                              unsigned int *pids)
{
        return nvml_view_list((nvml_list_fn *)(void *)real, device, count, pids, sizeof *pids);
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
