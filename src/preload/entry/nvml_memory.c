/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's figures of a GPU's memory: the container's share instead of the GPU. */
#include "gate_memory.h"
#include "limits.h"
#include "nvml_view.h"

/* The three figures that add up. */
struct figures {
        unsigned long long total, used, free;
};

static void figures_limit(nvmlDevice_t device, struct figures *figures)
{
        int device_index = nvml_view_device_index(device);

        figures->total = gate_memory_total(device_index, figures->total);
        figures->free = gate_memory_free(device_index, figures->total);
        figures->used = figures->total - figures->free;
}

/* A program that only queries does not come through cuInit, where the GPU's size is told. */
static void device_size_tell(nvmlDevice_t device, unsigned long long bytes)
{
        int device_index = nvml_view_device_index(device);

        if (device_index >= 0)
                limits_device_size((unsigned)device_index, bytes);
}

nvmlReturn_t hook_nvmlDeviceGetMemoryInfo(nvmlDeviceGetMemoryInfo_fn *real, nvmlDevice_t device,
                                          nvmlMemory_t *memory)
{
        nvmlReturn_t r = real(device, memory);

        if (r != NVML_SUCCESS || !nvml_view_is_limited())
                return r;
        struct figures figures = { .total = memory->total };
        device_size_tell(device, figures.total);
        figures_limit(device, &figures);
        memory->total = figures.total;
        memory->used = figures.used;
        memory->free = figures.free;
        return r;
}

nvmlReturn_t hook_nvmlDeviceGetMemoryInfo_v2(nvmlDeviceGetMemoryInfo_v2_fn *real,
                                             nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
        nvmlReturn_t r = real(device, memory);

        if (r != NVML_SUCCESS || !nvml_view_is_limited())
                return r;
        /* What firmware keeps of the GPU is not the container's. */
        struct figures figures = { .total = memory->total - memory->reserved };
        device_size_tell(device, figures.total);
        bool is_whole =
                gate_memory_total(nvml_view_device_index(device), figures.total) == figures.total;
        figures_limit(device, &figures);
        memory->reserved = is_whole ? memory->reserved : 0;
        memory->total = figures.total + memory->reserved;
        memory->used = figures.used;
        memory->free = figures.free;
        return r;
}

/* The window through which the host reaches the GPU: never wider than the share, and how much of it
 * neighbours use is not the container's to know. */
nvmlReturn_t hook_nvmlDeviceGetBAR1MemoryInfo(nvmlDeviceGetBAR1MemoryInfo_fn *real,
                                              nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
        nvmlReturn_t r = real(device, memory);

        if (r != NVML_SUCCESS || !nvml_view_is_limited())
                return r;
        struct figures figures = { .total = memory->bar1Total };
        figures_limit(device, &figures);
        memory->bar1Total = figures.total;
        memory->bar1Used = figures.used;
        memory->bar1Free = figures.free;
        return r;
}
