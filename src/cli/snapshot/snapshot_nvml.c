/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs as libnvidia-ml.so.1 tells of them. */
#include <stdlib.h>
#include <time.h>

#include "linkage.h"
#include "nearby.h"
#include "nvml_prototypes.h"
#include "scope.h"
#include "snapshot_gpu.h"
#include "str.h"

enum { PROCESSES_MOST = 4096, SAMPLES_MOST = 1024 };

typedef nvmlReturn_t process_list_fn(nvmlDevice_t device, unsigned *count,
                                     nvmlProcessInfo_t *infos);

static struct {
        bool is_asked, is_there;
        __typeof__(nvmlInit_v2) *init;
        __typeof__(nvmlDeviceGetCount_v2) *count;
        __typeof__(nvmlDeviceGetHandleByIndex_v2) *handle;
        __typeof__(nvmlDeviceGetUUID) *uuid;
        __typeof__(nvmlDeviceGetName) *name;
        __typeof__(nvmlDeviceGetMemoryInfo) *memory;
        __typeof__(nvmlDeviceGetMemoryInfo_v2) *memory_v2; /* NULL: an older driver; so for these */
        __typeof__(nvmlDeviceGetUtilizationRates) *utilization;
        /* Who computes, who draws, and MPS's clients. */
        process_list_fn *processes, *processes_that_draw, *processes_of_mps;
        __typeof__(nvmlDeviceGetProcessUtilization) *process_use;
        __typeof__(nvmlDeviceGetSamples) *samples;
        __typeof__(nvmlDeviceGetMigMode) *mig;
        __typeof__(nvmlDeviceGetMaxMigDeviceCount) *mig_count;
        __typeof__(nvmlDeviceGetMigDeviceHandleByIndex) *mig_handle;
} nvml;

static bool nvml_load(void)
{
        const struct linkage_row needed[] = {
                { &nvml.init, "nvmlInit_v2" },
                { &nvml.count, "nvmlDeviceGetCount_v2" },
                { &nvml.handle, "nvmlDeviceGetHandleByIndex_v2" },
                { &nvml.uuid, "nvmlDeviceGetUUID" },
                { &nvml.name, "nvmlDeviceGetName" },
                { &nvml.memory, "nvmlDeviceGetMemoryInfo" },
        };
        const struct linkage_row optional[] = {
                { &nvml.memory_v2, "nvmlDeviceGetMemoryInfo_v2" },
                { &nvml.utilization, "nvmlDeviceGetUtilizationRates" },
                { &nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3" },
                { &nvml.processes_that_draw, "nvmlDeviceGetGraphicsRunningProcesses_v3" },
                { &nvml.processes_of_mps, "nvmlDeviceGetMPSComputeRunningProcesses_v3" },
                { &nvml.process_use, "nvmlDeviceGetProcessUtilization" },
                { &nvml.samples, "nvmlDeviceGetSamples" },
                { &nvml.mig, "nvmlDeviceGetMigMode" },
                { &nvml.mig_count, "nvmlDeviceGetMaxMigDeviceCount" },
                { &nvml.mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex" },
        };

        if (nvml.is_asked)
                return nvml.is_there;
        nvml.is_asked = true;
        void *library = nearby_driver("libnvidia-ml.so.1");
        if (!library || linkage_find(library, needed, sizeof needed / sizeof *needed))
                return false;
        linkage_find(library, optional, sizeof optional / sizeof *optional);
        nvml.is_there = nvml.init() == NVML_SUCCESS;
        return nvml.is_there;
}

/* What the driver and the firmware keep for themselves is not used, where it says so (since 510). */
static bool memory_read(nvmlDevice_t device, struct gpu_view *gpu)
{
        nvmlMemory_v2_t split = { .version = NVML_VERSION_OF(nvmlMemory_v2_t, 2) };
        nvmlMemory_t memory = { 0 };

        if (nvml.memory_v2 && nvml.memory_v2(device, &split) == NVML_SUCCESS) {
                gpu->total_bytes = split.total;
                gpu->used_bytes = split.used;
                return true;
        }
        if (nvml.memory(device, &memory) != NVML_SUCCESS)
                return false;
        gpu->total_bytes = memory.total;
        gpu->used_bytes = memory.used;
        return true;
}

static bool is_known(const struct vec *processes, size_t first, size_t end, pid_t pid)
{
        for (size_t i = first; i < end; i++)
                if (((const struct gpu_process *)vec_at(processes, i))->pid == pid)
                        return true;
        return false;
}

/* Who is on two lists has the same figure on both. */
static void list_add(process_list_fn *fill, nvmlDevice_t device, const char *uuid, size_t first,
                     struct vec *processes)
{
        autofree nvmlProcessInfo_t *list = calloc(PROCESSES_MOST, sizeof *list);
        unsigned count = PROCESSES_MOST;
        const size_t end = processes->count;

        if (!list || !fill || fill(device, &count, list) != NVML_SUCCESS)
                return;
        for (unsigned i = 0; i < count; i++) {
                struct gpu_process process = { .pid = (pid_t)list[i].pid };

                if (is_known(processes, first, end, process.pid))
                        continue;
                /* Where the driver does not know, it says so by the largest number. */
                process.bytes = list[i].usedGpuMemory == UINT64_MAX ? 0 : list[i].usedGpuMemory;
                str_copy(process.uuid, sizeof process.uuid, uuid);
                vec_push(processes, &process);
        }
}

static void processes_add(nvmlDevice_t device, const char *uuid, struct vec *processes)
{
        const size_t first = processes->count;

        list_add(nvml.processes, device, uuid, first, processes);
        list_add(nvml.processes_that_draw, device, uuid, first, processes);
        list_add(nvml.processes_of_mps, device, uuid, first, processes);
}

static unsigned long long second_ago_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return ((unsigned long long)now.tv_sec - 1) * 1000000 +
               (unsigned long long)now.tv_nsec / 1000;
}

/* A rate is of the driver's last sixth of a second or so; samples are of the second that processes are told of. */
static void busy_average(nvmlDevice_t device, struct gpu_view *gpu)
{
        autofree nvmlSample_t *samples = calloc(SAMPLES_MOST, sizeof *samples);
        unsigned count = SAMPLES_MOST;
        nvmlValueType_t type;
        double sum = 0;

        if (!samples || !nvml.samples ||
            nvml.samples(device, NVML_GPU_UTILIZATION_SAMPLES, second_ago_us(), &type, &count,
                         samples) != NVML_SUCCESS ||
            type != NVML_VALUE_TYPE_UNSIGNED_INT || !count || count > SAMPLES_MOST)
                return;
        for (unsigned i = 0; i < count; i++)
                sum += samples[i].sampleValue.uiVal;
        gpu->busy_percent = sum / count < 100 ? sum / count : 100;
        gpu->is_busy_second = true;
}

/* How much of the last second each process had, behind `first`; none is told of that did nothing. */
static void split_read(nvmlDevice_t device, struct gpu_view *gpu, struct vec *processes,
                       size_t first)
{
        autofree nvmlProcessUtilizationSample_t *samples = calloc(SAMPLES_MOST, sizeof *samples);
        unsigned count = SAMPLES_MOST;

        if (!samples || !nvml.process_use || !gpu->is_busy_told)
                return;
        const nvmlReturn_t r = nvml.process_use(device, samples, &count, second_ago_us());

        gpu->is_split_told = gpu->is_split_rounded = r == NVML_SUCCESS || r == NVML_ERROR_NOT_FOUND;
        for (unsigned i = 0; r == NVML_SUCCESS && i < count && i < SAMPLES_MOST; i++)
                for (size_t j = first; j < processes->count; j++) {
                        struct gpu_process *process = vec_at(processes, j);

                        if (process->pid == (pid_t)samples[i].pid && samples[i].smUtil <= 100)
                                process->busy_percent = samples[i].smUtil;
                }
        if (gpu->is_split_told)
                busy_average(device, gpu);
}

static void device_add(struct snapshot *snapshot, nvmlDevice_t device, unsigned index,
                       unsigned instance, struct vec *processes)
{
        struct gpu_view gpu = { .index = index, .instance = instance };
        nvmlUtilization_t use = { 0 };

        if (nvml.uuid(device, gpu.uuid, sizeof gpu.uuid) != NVML_SUCCESS ||
            snapshot_gpu(snapshot, gpu.uuid))
                return;
        if (nvml.name(device, gpu.name, sizeof gpu.name) != NVML_SUCCESS)
                gpu.name[0] = '\0';
        /* One that fell off the bus has no memory to tell of. */
        gpu.is_healthy = gpu.is_told = memory_read(device, &gpu);
        /* MIG devices have memory, and no utilization. */
        gpu.is_busy_told = nvml.utilization && nvml.utilization(device, &use) == NVML_SUCCESS;
        gpu.busy_percent = use.gpu;
        const size_t first = processes->count;

        processes_add(device, gpu.uuid, processes);
        split_read(device, &gpu, processes, first);
        vec_push(&snapshot->gpus, &gpu);
}

/* Indices of MIG devices may have gaps. */
static bool mig_add(struct snapshot *snapshot, nvmlDevice_t device, unsigned index,
                    struct vec *processes)
{
        unsigned mode = 0, pending = 0, most = 0;
        nvmlDevice_t part;

        if (!nvml.mig || !nvml.mig_count || !nvml.mig_handle ||
            nvml.mig(device, &mode, &pending) != NVML_SUCCESS || !mode ||
            nvml.mig_count(device, &most) != NVML_SUCCESS)
                return false;
        for (unsigned i = 0; i < most; i++)
                if (nvml.mig_handle(device, i, &part) == NVML_SUCCESS)
                        device_add(snapshot, part, index, i + 1, processes);
        return true;
}

bool snapshot_nvml_add(struct snapshot *snapshot, struct vec *processes)
{
        unsigned count = 0;
        nvmlDevice_t device;

        if (!nvml_load())
                return false;
        if (nvml.count(&count) != NVML_SUCCESS)
                snapshot_trouble(snapshot, "the driver does not name its GPUs");
        for (unsigned i = 0; i < count; i++)
                if (nvml.handle(i, &device) == NVML_SUCCESS &&
                    !mig_add(snapshot, device, i, processes))
                        device_add(snapshot, device, i, 0, processes);
        return true;
}
