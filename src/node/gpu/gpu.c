/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by NVML. */
#include "gpu.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "gpu_links.h"
#include "scope.h"
#include "str.h"

/* Where the GPU sits, by the kernel or by the driver; 0 where neither says. */
static int numa_of(const struct nvml *nvml, nvmlDevice_t device, const char *bus_id)
{
        char path[96];
        autofree char *text = NULL;
        unsigned long nodes = 0;
        int node;

        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", bus_id);
        if (file_read(path, &text) < 0)
                return nvml->memories && nvml->memories(device, 1, &nodes, 0) == NVML_SUCCESS &&
                                       nodes
                               ? __builtin_ctzl(nodes)
                               : 0;
        node = atoi(text);
        return node > 0 ? node : 0;
}

static nvmlReturn_t gpu_read(const struct nvml *nvml, unsigned index, struct gpu *ret_gpu)
{
        struct gpu gpu = { .index = index, .is_healthy = true };
        int major = 0, minor = 0;
        nvmlMemory_t memory = { 0 };
        nvmlPciInfo_t pci = { 0 };
        nvmlDevice_t device;
        nvmlReturn_t r = nvml->handle(index, &device);

        if (r == NVML_SUCCESS)
                r = nvml->uuid(device, gpu.uuid, sizeof gpu.uuid);
        if (r == NVML_SUCCESS)
                r = nvml->name(device, gpu.name, sizeof gpu.name);
        if (r == NVML_SUCCESS)
                r = nvml->memory(device, &memory);
        if (r == NVML_SUCCESS)
                r = nvml->pci(device, &pci);
        if (r == NVML_SUCCESS)
                r = nvml->capability(device, &major, &minor);
        if (r != NVML_SUCCESS)
                return r;
        str_copy(gpu.bus_id, sizeof gpu.bus_id, pci.busIdLegacy);
        gpu.memory_bytes = memory.total;
        gpu.numa = numa_of(nvml, device, gpu.bus_id);
        gpu.capability_major = (unsigned)major;
        gpu.capability_minor = (unsigned)minor;
        *ret_gpu = gpu;
        return NVML_SUCCESS;
}

/* One item of the list: an index, a range of them, or a UUID. */
static int names(const char *item, const struct gpu *gpu)
{
        unsigned first, last;
        int end = 0;

        if (sscanf(item, "%u..%u%n", &first, &last, &end) == 2 && item[end] == '\0' &&
            first <= last)
                return gpu->index >= first && gpu->index <= last;
        if (sscanf(item, "%u%n", &first, &end) == 1 && item[end] == '\0' &&
            isdigit((unsigned char)*item))
                return gpu->index == first;
        if (str_starts_with(item, "GPU-"))
                return strcmp(item, gpu->uuid) == 0;
        return -EINVAL;
}

int gpu_is_excluded(const char *list, const struct gpu *gpu, struct err *e)
{
        autofree char *items = strdup(list);
        char *next = items;
        int is_excluded = 0;

        if (!items)
                return err_set(e, -ENOMEM, "out of memory");
        for (char *item; (item = strsep(&next, ",")) != NULL;) {
                int r = names(item, gpu);

                if (r < 0)
                        return err_set(e, r,
                                       "'%.80s' names no device to exclude (examples: 0, 0..2, "
                                       "GPU-…)",
                                       item);
                is_excluded |= r;
        }
        return is_excluded;
}

int gpu_set_read(const struct nvml *nvml, const char *exclude, struct gpu_set *ret_set,
                 struct err *e)
{
        struct gpu_set set = { 0 };
        unsigned count = 0;
        nvmlReturn_t r = nvml->count(&count);

        for (unsigned i = 0; i < count && r == NVML_SUCCESS && set.count < GPUS_MOST; i++) {
                struct gpu gpu;
                int is_excluded = 0;

                r = gpu_read(nvml, i, &gpu);
                if (r == NVML_SUCCESS && exclude)
                        is_excluded = gpu_is_excluded(exclude, &gpu, e);
                if (is_excluded < 0)
                        return is_excluded;
                if (r == NVML_SUCCESS && !is_excluded)
                        set.gpus[set.count++] = gpu;
        }
        if (r != NVML_SUCCESS)
                return err_set(e, -EIO, "the driver does not list its GPUs (NVML error %d)",
                               (int)r);
        gpu_set_read_parts(nvml, &set);
        gpu_links_read(nvml, &set);
        *ret_set = set;
        return 0;
}
