/* SPDX-License-Identifier: Apache-2.0 */
/* process: who runs on a device: one body per generation of the structures. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "load.h"
#include "process_list.h"

static void fill_v1(const struct process *process, void *item)
{
        *(nvmlProcessInfo_v1_t *)item =
                (nvmlProcessInfo_v1_t){ .pid = process->pid, .usedGpuMemory = process->bytes };
}

static void fill_v2(const struct process *process, void *item)
{
        *(nvmlProcessInfo_v2_t *)item = (nvmlProcessInfo_v2_t){
                .pid = process->pid,
                .usedGpuMemory = process->bytes,
                .gpuInstanceId = process->gpu_instance,
                .computeInstanceId = process->compute_instance,
        };
}

/* What draws through Vulkan or OpenGL, and MPS's clients, the driver lists apart. With the variable everybody does. */
static bool is_on(enum machine_list wanted, const struct process *process)
{
        static const char *const variables[] = {
                [MACHINE_LIST_GRAPHICS] = "VGPU_SIM_GRAPHICS", [MACHINE_LIST_MPS] = "VGPU_SIM_MPS"
        };

        return process->list == wanted || (variables[wanted] && getenv(variables[wanted]));
}

static nvmlReturn_t give_list(enum machine_list wanted, nvmlDevice_t device, unsigned *count,
                              void *items, size_t item_bytes,
                              void fill(const struct process *, void *))
{
        struct vec list = VEC_OF(struct process);
        struct target t;
        nvmlReturn_t r = target_any(device, count, &t);

        if (r == NVML_SUCCESS)
                r = process_list(&t, &list);
        for (size_t i = list.count; i-- > 0;)
                if (!is_on(wanted, vec_at(&list, i)))
                        vec_remove(&list, i);
        if (r == NVML_SUCCESS && target_list_fits(count, (unsigned)list.count, items, &r))
                for (size_t i = 0; i < list.count; i++)
                        fill(vec_at(&list, i), (char *)items + i * item_bytes);
        vec_done(&list);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                      nvmlProcessInfo_v1_t *infos)
{
        return give_list(MACHINE_LIST_COMPUTE, device, count, infos, sizeof *infos, fill_v1);
}

nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count,
                                                         nvmlProcessInfo_v2_t *infos)
{
        return give_list(MACHINE_LIST_COMPUTE, device, count, infos, sizeof *infos, fill_v2);
}

nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                         nvmlProcessInfo_t *infos)
{
        return give_list(MACHINE_LIST_COMPUTE, device, count, infos, sizeof *infos, fill_v2);
}

nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                       nvmlProcessInfo_v1_t *infos)
{
        return give_list(MACHINE_LIST_GRAPHICS, device, count, infos, sizeof *infos, fill_v1);
}

nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int *count,
                                                          nvmlProcessInfo_v2_t *infos)
{
        return give_list(MACHINE_LIST_GRAPHICS, device, count, infos, sizeof *infos, fill_v2);
}

nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                          nvmlProcessInfo_t *infos)
{
        return give_list(MACHINE_LIST_GRAPHICS, device, count, infos, sizeof *infos, fill_v2);
}

nvmlReturn_t sim_nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                         nvmlProcessInfo_v1_t *infos)
{
        return give_list(MACHINE_LIST_MPS, device, count, infos, sizeof *infos, fill_v1);
}

nvmlReturn_t sim_nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device,
                                                            unsigned int *count,
                                                            nvmlProcessInfo_v2_t *infos)
{
        return give_list(MACHINE_LIST_MPS, device, count, infos, sizeof *infos, fill_v2);
}

nvmlReturn_t sim_nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device,
                                                            unsigned int *count,
                                                            nvmlProcessInfo_t *infos)
{
        return give_list(MACHINE_LIST_MPS, device, count, infos, sizeof *infos, fill_v2);
}

static void fill_detail(const struct process *process, void *item)
{
        *(nvmlProcessDetail_v1_t *)item = (nvmlProcessDetail_v1_t){
                .pid = process->pid,
                .usedGpuMemory = process->bytes,
                .gpuInstanceId = process->gpu_instance,
                .computeInstanceId = process->compute_instance,
                .usedGpuCcProtectedMemory = NVML_VALUE_NONE,
        };
}

nvmlReturn_t sim_nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                       nvmlProcessDetailList_t *list)
{
        static const enum machine_list lists[] = {
                [NVML_PROCESS_MODE_COMPUTE] = MACHINE_LIST_COMPUTE,
                [NVML_PROCESS_MODE_GRAPHICS] = MACHINE_LIST_GRAPHICS,
                [NVML_PROCESS_MODE_MPS] = MACHINE_LIST_MPS,
        };

        if (!list)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (list->version != NVML_VERSION_OF(nvmlProcessDetailList_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (list->mode > NVML_PROCESS_MODE_MPS)
                return NVML_ERROR_INVALID_ARGUMENT;
        return give_list(lists[list->mode], device, &list->numProcArrayEntries, list->procArray,
                         sizeof *list->procArray, fill_detail);
}

static unsigned long long now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

/* What the caller has not seen yet, but no more than a second of it. */
static uint64_t window_ns(unsigned long long last_seen_us)
{
        unsigned long long now = now_us();
        unsigned long long span_us = last_seen_us < now ? now - last_seen_us : 1;

        if (span_us > 1000000)
                span_us = 1000000;
        return (span_us < 40000 ? 40000 : span_us) * 1000;
}

struct usage {
        unsigned pid, sm, memory;
};

/* The processes that used the device since then. */
static nvmlReturn_t usage_list(const struct target *t, unsigned long long last_seen_us,
                               struct vec *ret_usages)
{
        struct vec list = VEC_OF(struct process);
        nvmlReturn_t r = process_list(t, &list);

        for (size_t i = 0; r == NVML_SUCCESS && i < list.count; i++) {
                const struct process *process = vec_at(&list, i);
                struct usage usage = { .pid = process->pid };
                usage.sm = process_percent(t, process, window_ns(last_seen_us));
                usage.memory = usage.sm * 2 / 5;
                if (usage.sm && vec_push(ret_usages, &usage) < 0)
                        r = NVML_ERROR_MEMORY;
        }
        vec_done(&list);
        return r;
}

static nvmlReturn_t target_with_usage(nvmlDevice_t device, const void *answer, struct target *ret)
{
        nvmlReturn_t r = target_any(device, answer, ret);

        /* Cut into instances, a GPU no longer tells who used how much of it. */
        return r == NVML_SUCCESS && ret->gpu->mig_mode ? NVML_ERROR_NOT_SUPPORTED : r;
}

nvmlReturn_t sim_nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                                 nvmlProcessUtilizationSample_t *samples,
                                                 unsigned int *count,
                                                 unsigned long long last_seen_us)
{
        struct vec usages = VEC_OF(struct usage);
        struct target t;
        nvmlReturn_t r = target_with_usage(device, count, &t);

        if (r == NVML_SUCCESS)
                r = usage_list(&t, last_seen_us, &usages);
        if (r == NVML_SUCCESS && usages.count == 0) {
                *count = 0;
                r = NVML_ERROR_NOT_FOUND;
        } else if (r == NVML_SUCCESS && !samples) {
                *count = (unsigned)usages.count;
                r = NVML_ERROR_INSUFFICIENT_SIZE;
        } else if (r == NVML_SUCCESS &&
                   target_list_fits(count, (unsigned)usages.count, samples, &r)) {
                for (size_t i = 0; i < usages.count; i++) {
                        const struct usage *usage = vec_at(&usages, i);
                        samples[i] = (nvmlProcessUtilizationSample_t){
                                .pid = usage->pid,
                                .timeStamp = now_us(),
                                .smUtil = usage->sm,
                                .memUtil = usage->memory,
                                .encUtil = load_video_percent(usage->sm),
                                .decUtil = load_video_percent(usage->sm),
                        };
                }
        }
        vec_done(&usages);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
                                                       nvmlProcessesUtilizationInfo_t *info)
{
        struct vec usages = VEC_OF(struct usage);
        struct target t;
        nvmlReturn_t r = target_with_usage(device, info, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (info->version != NVML_VERSION_OF(nvmlProcessesUtilizationInfo_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        r = usage_list(&t, info->lastSeenTimeStamp, &usages);
        if (r == NVML_SUCCESS && usages.count == 0)
                r = NVML_ERROR_NOT_FOUND;
        if (r == NVML_SUCCESS &&
            target_list_fits(&info->processSamplesCount, (unsigned)usages.count,
                             info->procUtilArray, &r)) {
                for (size_t i = 0; i < usages.count; i++) {
                        const struct usage *usage = vec_at(&usages, i);
                        info->procUtilArray[i] = (nvmlProcessUtilizationInfo_v1_t){
                                .timeStamp = now_us(),
                                .pid = usage->pid,
                                .smUtil = usage->sm,
                                .memUtil = usage->memory,
                                .encUtil = load_video_percent(usage->sm),
                                .decUtil = load_video_percent(usage->sm),
                                .jpgUtil = load_video_percent(usage->sm),
                                .ofaUtil = load_video_percent(usage->sm),
                        };
                }
        }
        vec_done(&usages);
        return r;
}
