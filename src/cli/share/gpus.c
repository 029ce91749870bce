/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of this machine. */
#include "gpus.h"

#include <errno.h>
#include <stdio.h>

#include "boot_id.h"
#include "linkage.h"
#include "machine_view.h"
#include "nearby.h"
#include "nvml_prototypes.h"

static int list_add(struct gpu_list *list, const char *uuid, struct gpu_device gpu_device)
{
        if (list->count == SHARE_DEVICES)
                return -E2BIG;
        snprintf(list->uuids[list->count], SHARE_UUID, "%s", uuid);
        list->devices[list->count++] = gpu_device;
        return 0;
}

static void list_see(struct gpu_list *list, const char *uuid, unsigned position)
{
        if (list->seen_count == GPUS_SEEN)
                return;
        struct limits_gpu *gpu = &list->seen[list->seen_count++];
        snprintf(gpu->uuid, sizeof gpu->uuid, "%s", uuid);
        gpu->position = position;
}

/* What may be used was found; is there any? */
static int list_check(const struct gpu_list *list, int result, struct err *e)
{
        if (result == -E2BIG)
                return err_set(e, result, "there are more than %d GPUs and MIG devices",
                               SHARE_DEVICES);
        if (result == 0 && list->count == 0)
                return err_set(e, -ENODEV,
                               "there is no GPU, and no MIG device with a compute instance");
        return result;
}

static int simulated_mig(const struct machine_header *header, const struct machine_gpu *gpu,
                         struct gpu_list *list)
{
        unsigned position = 0;
        int r = 0;

        for (unsigned i = 0; i < sizeof gpu->instances / sizeof *gpu->instances; i++) {
                const struct machine_gpu_instance *instance = &gpu->instances[i];
                const struct gpu_device gpu_device = { header->units[instance->unit].memory_bytes,
                                                       gpu->prefetch_bytes_per_s };

                for (unsigned k = 0; instance->is_used && k < 7 && r == 0; k++) {
                        if (!instance->compute[k].is_used)
                                continue;
                        list_see(list, instance->compute[k].uuid, position++);
                        r = list_add(list, instance->compute[k].uuid, gpu_device);
                }
        }
        return r;
}

int gpus_simulated(const char *machine_path, struct gpu_list *ret_list, struct err *e)
{
        struct gpu_list list = { 0 };
        struct machine_view view;
        int r = machine_view_open(machine_path, &view, e);

        if (r < 0)
                return r;
        for (unsigned i = 0; i < view.header->gpu_count && r == 0; i++) {
                const struct machine_gpu *gpu = &view.header->gpus[i];
                const struct gpu_device gpu_device = { gpu->memory_bytes - gpu->reserved_bytes,
                                                       gpu->prefetch_bytes_per_s };

                list_see(&list, gpu->uuid, i);
                r = gpu->mig_mode ? simulated_mig(view.header, gpu, &list)
                                  : list_add(&list, gpu->uuid, gpu_device);
        }
        for (size_t i = 0; i < sizeof view.header->id; i++)
                snprintf(list.machine + 2 * i, 3, "%02x", view.header->id[i]);
        machine_view_close(&view);
        r = list_check(&list, r, e);
        if (r == 0)
                *ret_list = list;
        return r;
}

struct nvml {
        __typeof__(nvmlInit_v2) *init;
        __typeof__(nvmlShutdown) *shutdown;
        __typeof__(nvmlDeviceGetCount_v2) *count;
        __typeof__(nvmlDeviceGetHandleByIndex_v2) *handle;
        __typeof__(nvmlDeviceGetUUID) *uuid;
        __typeof__(nvmlDeviceGetMemoryInfo) *memory; /* NULL: not told */
        __typeof__(nvmlDeviceGetMigMode) *mig;       /* NULL: a driver before MIG */
        __typeof__(nvmlDeviceGetMaxMigDeviceCount) *mig_count;
        __typeof__(nvmlDeviceGetMigDeviceHandleByIndex) *mig_handle;
};

static bool nvml_load(struct nvml *nvml)
{
        const struct linkage_row needed[] = {
                { &nvml->init, "nvmlInit_v2" },
                { &nvml->shutdown, "nvmlShutdown" },
                { &nvml->count, "nvmlDeviceGetCount_v2" },
                { &nvml->handle, "nvmlDeviceGetHandleByIndex_v2" },
                { &nvml->uuid, "nvmlDeviceGetUUID" },
        };
        const struct linkage_row optional[] = {
                { &nvml->memory, "nvmlDeviceGetMemoryInfo" },
                { &nvml->mig, "nvmlDeviceGetMigMode" },
                { &nvml->mig_count, "nvmlDeviceGetMaxMigDeviceCount" },
                { &nvml->mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex" },
        };
        void *library = nearby_driver("libnvidia-ml.so.1");

        if (!library || linkage_find(library, needed, sizeof needed / sizeof *needed))
                return false;
        linkage_find(library, optional, sizeof optional / sizeof *optional);
        return true;
}

/* Prefetching comes near the link's speed; this is what a PCIe 4.0 x16 slot does at least. */
#define SWAP_BYTES_PER_S UINT64_C(12000000000)

static int device_add(const struct nvml *nvml, nvmlDevice_t device, struct gpu_list *list)
{
        char uuid[SHARE_UUID];
        struct gpu_device gpu_device = { 0 };
        nvmlMemory_t memory = { 0 };

        if (nvml->uuid(device, uuid, sizeof uuid) != NVML_SUCCESS)
                return -EIO;
        if (nvml->memory && nvml->memory(device, &memory) == NVML_SUCCESS)
                gpu_device = (struct gpu_device){ memory.total, SWAP_BYTES_PER_S };
        return list_add(list, uuid, gpu_device);
}

static void device_see(const struct nvml *nvml, nvmlDevice_t device, unsigned position,
                       struct gpu_list *list)
{
        char uuid[SHARE_UUID];

        if (nvml->uuid(device, uuid, sizeof uuid) == NVML_SUCCESS)
                list_see(list, uuid, position);
}

static bool is_cut(const struct nvml *nvml, nvmlDevice_t device)
{
        unsigned int mode = 0, pending = 0;

        return nvml->mig && nvml->mig_count && nvml->mig_handle &&
               nvml->mig(device, &mode, &pending) == NVML_SUCCESS && mode;
}

/* Indices may have gaps. */
static int mig_add(const struct nvml *nvml, nvmlDevice_t device, struct gpu_list *list)
{
        unsigned int most = 0;
        int r = nvml->mig_count(device, &most) == NVML_SUCCESS ? 0 : -EIO;

        for (unsigned i = 0; i < most && r == 0; i++) {
                nvmlDevice_t part;

                if (nvml->mig_handle(device, i, &part) != NVML_SUCCESS)
                        continue;
                device_see(nvml, part, i, list);
                r = device_add(nvml, part, list);
        }
        return r;
}

static int nvml_read(const struct nvml *nvml, struct gpu_list *list)
{
        unsigned int count = 0;
        int r = nvml->count(&count) == NVML_SUCCESS ? 0 : -EIO;

        for (unsigned i = 0; i < count && r == 0; i++) {
                nvmlDevice_t device;

                if (nvml->handle(i, &device) != NVML_SUCCESS)
                        return -EIO;
                device_see(nvml, device, i, list);
                r = is_cut(nvml, device) ? mig_add(nvml, device, list)
                                         : device_add(nvml, device, list);
        }
        return r;
}

int gpus_real(struct gpu_list *ret_list, struct err *e)
{
        struct gpu_list list = { 0 };
        struct nvml nvml = { 0 };

        if (!nvml_load(&nvml))
                return err_set(e, -ENOENT,
                               "the driver's libnvidia-ml.so.1 was not found: cannot list the GPUs "
                               "to limit");
        const nvmlReturn_t started = nvml.init();
        if (started != NVML_SUCCESS)
                return err_set(e, -EIO, "the driver does not list its GPUs (NVML error %d)",
                               (int)started);
        int r = nvml_read(&nvml, &list);
        nvml.shutdown();
        if (r == -EIO)
                return err_set(e, r, "the driver does not list its GPUs");
        r = list_check(&list, r, e);
        if (r < 0)
                return r;
        boot_id_read(list.machine); /* without /proc: no machine of its own */
        *ret_list = list;
        return 0;
}
