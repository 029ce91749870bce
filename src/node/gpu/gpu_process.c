/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and how busy they keep a GPU, by NVML. */
#include "gpu_process.h"

#include <string.h>
#include <time.h>

#include "str.h"

/* More than contexts fit onto any GPU: a list that is cut would hide all who are on it. */
enum { PROCESSES_MOST = 8192, SAMPLES_MOST = 8192 };

unsigned long long gpu_process_second_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return ((unsigned long long)now.tv_sec - 1) * 1000000 +
               (unsigned long long)now.tv_nsec / 1000;
}

/* Newer samples stand for the process; the driver may list several of one. */
static void busy_put(struct vec *processes, const char *uuid,
                     const nvmlProcessUtilizationSample_t *sample)
{
        for (size_t i = 0; i < processes->count; i++) {
                struct gpu_process *process = vec_at(processes, i);

                if (process->pid == sample->pid && strcmp(process->uuid, uuid) == 0 &&
                    sample->smUtil <= 100)
                        process->busy_percent = sample->smUtil;
        }
}

/* A process without a sample did nothing. */
static void told_mark(struct vec *processes, size_t first)
{
        for (size_t i = first; i < processes->count; i++)
                ((struct gpu_process *)vec_at(processes, i))->is_busy_told = true;
}

typedef nvmlReturn_t process_list_fn(nvmlDevice_t device, unsigned *count,
                                     nvmlProcessInfo_t *infos);

/* Who computes and draws is on two lists, with the same figure; [first, end) are of the lists before. */
static void process_put(struct vec *processes, size_t first, size_t end,
                        const struct gpu_process *process)
{
        for (size_t i = first; i < end; i++) {
                struct gpu_process *known = vec_at(processes, i);

                if (known->pid != process->pid)
                        continue;
                if (process->bytes > known->bytes)
                        known->bytes = process->bytes;
                return;
        }
        vec_push(processes, process);
}

static void list_read(process_list_fn *list, nvmlDevice_t device, const char *uuid, size_t first,
                      struct vec *processes)
{
        static nvmlProcessInfo_t infos[PROCESSES_MOST]; /* one thread talks to the driver */
        unsigned count = PROCESSES_MOST;
        const size_t end = processes->count;

        if (!list || list(device, &count, infos) != NVML_SUCCESS || count > PROCESSES_MOST)
                return;
        for (unsigned i = 0; i < count; i++) {
                struct gpu_process process = { .pid = infos[i].pid };

                /* "Not available" is all ones. */
                if (infos[i].usedGpuMemory != UINT64_MAX)
                        process.bytes = infos[i].usedGpuMemory;
                str_copy(process.uuid, sizeof process.uuid, uuid);
                process_put(processes, first, end, &process);
        }
}

static void device_read(const struct nvml *nvml, nvmlDevice_t device, const char *uuid,
                        struct vec *processes)
{
        static nvmlProcessUtilizationSample_t samples[SAMPLES_MOST];
        /* Memory of Vulkan and OpenGL is as much a container's as CUDA's. */
        process_list_fn *const lists[] = { nvml->processes, nvml->processes_that_draw,
                                           nvml->processes_of_mps };
        unsigned sample_count = SAMPLES_MOST;
        const size_t first = processes->count;

        for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
                list_read(lists[i], device, uuid, first, processes);
        if (processes->count == first || !nvml->process_use)
                return;
        const nvmlReturn_t r =
                nvml->process_use(device, samples, &sample_count, gpu_process_second_us());

        if (r == NVML_SUCCESS || r == NVML_ERROR_NOT_FOUND)
                told_mark(processes, first);
        if (r != NVML_SUCCESS)
                return;
        for (unsigned i = 0; i < sample_count && i < SAMPLES_MOST; i++)
                busy_put(processes, uuid, &samples[i]);
}

/* Indices may have gaps. The driver has no utilisation by process for MIG devices. */
static void parts_read(const struct nvml *nvml, nvmlDevice_t parent, struct vec *processes)
{
        unsigned int most = 0;

        if (nvml->mig_count(parent, &most) != NVML_SUCCESS)
                return;
        for (unsigned i = 0; i < most; i++) {
                char uuid[sizeof((struct gpu_process *)NULL)->uuid];
                nvmlDevice_t part;

                if (nvml->mig_handle(parent, i, &part) == NVML_SUCCESS &&
                    nvml->uuid(part, uuid, sizeof uuid) == NVML_SUCCESS)
                        device_read(nvml, part, uuid, processes);
        }
}

void gpu_process_read(const struct nvml *nvml, const struct gpu_set *set, struct vec *processes)
{
        for (unsigned i = 0; nvml->processes && i < set->count; i++) {
                const struct gpu *gpu = &set->gpus[i];
                nvmlDevice_t device;

                if (!gpu->is_healthy || nvml->handle(gpu->index, &device) != NVML_SUCCESS)
                        continue;
                if (!gpu->is_mig)
                        device_read(nvml, device, gpu->uuid, processes);
                else if (nvml->mig)
                        parts_read(nvml, device, processes);
        }
}
