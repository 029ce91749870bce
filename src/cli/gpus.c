/* The GPUs of this machine. */
#include "gpus.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "machine.h"
#include "nvml_prototypes.h"
#include "scope.h"

int gpus_simulated(const char *machine_path, struct gpu_list *ret_list, struct err *e)
{
        struct machine machine;
        const int r = machine_open(machine_path, &machine, e);

        if (r < 0)
                return r;
        *ret_list = (struct gpu_list){ .count = machine.file->header.gpu_count };
        for (unsigned i = 0; i < ret_list->count; i++) {
                const struct machine_gpu *gpu = machine_gpu(&machine, i);

                snprintf(ret_list->uuids[i], SHARE_UUID, "%s", gpu->uuid);
                ret_list->cards[i] = (struct gpu_card){ gpu->memory_bytes - gpu->reserved_bytes,
                                                        gpu->prefetch_bytes_per_s };
                ret_list->has_mig |= gpu->mig_mode != 0;
        }
        for (size_t i = 0; i < sizeof machine.file->header.id; i++)
                snprintf(ret_list->machine + 2 * i, 3, "%02x", machine.file->header.id[i]);
        machine_close(&machine);
        return 0;
}

struct nvml {
        __typeof__(nvmlInit_v2) *init;
        __typeof__(nvmlShutdown) *shutdown;
        __typeof__(nvmlDeviceGetCount_v2) *count;
        __typeof__(nvmlDeviceGetHandleByIndex_v2) *handle;
        __typeof__(nvmlDeviceGetUUID) *uuid;
        __typeof__(nvmlDeviceGetMemoryInfo) *memory; /* NULL: not told */
        __typeof__(nvmlDeviceGetMigMode) *mig;       /* NULL: a driver before MIG */
};

static bool nvml_load(struct nvml *nvml)
{
        void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

        if (!library)
                return false;
        *(void **)&nvml->init = dlsym(library, "nvmlInit_v2");
        *(void **)&nvml->shutdown = dlsym(library, "nvmlShutdown");
        *(void **)&nvml->count = dlsym(library, "nvmlDeviceGetCount_v2");
        *(void **)&nvml->handle = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
        *(void **)&nvml->uuid = dlsym(library, "nvmlDeviceGetUUID");
        *(void **)&nvml->memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
        *(void **)&nvml->mig = dlsym(library, "nvmlDeviceGetMigMode");
        return nvml->init && nvml->shutdown && nvml->count && nvml->handle && nvml->uuid;
}

/* Prefetching comes near the link's speed; this is what a PCIe 4.0 x16 slot does at least. */
#define SWAP_BYTES_PER_S UINT64_C(12000000000)

static void card_read(const struct nvml *nvml, nvmlDevice_t device, struct gpu_card *ret_card)
{
        nvmlMemory_t memory = { 0 };

        if (nvml->memory && nvml->memory(device, &memory) == NVML_SUCCESS)
                *ret_card = (struct gpu_card){ memory.total, SWAP_BYTES_PER_S };
}

static void machine_read(char ret_machine[GPU_PAGE_MACHINE])
{
        autofree char *boot = NULL;

        if (file_read("/proc/sys/kernel/random/boot_id", &boot) == 0)
                snprintf(ret_machine, GPU_PAGE_MACHINE, "%.*s", (int)strcspn(boot, "\n"), boot);
}

static nvmlReturn_t nvml_read(const struct nvml *nvml, struct gpu_list *list)
{
        nvmlReturn_t r = nvml->count(&list->count);

        if (r == NVML_SUCCESS && list->count > SHARE_DEVICES)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned i = 0; i < list->count && r == NVML_SUCCESS; i++) {
                unsigned int mode = 0, pending = 0;
                nvmlDevice_t device;

                r = nvml->handle(i, &device);
                if (r == NVML_SUCCESS)
                        r = nvml->uuid(device, list->uuids[i], SHARE_UUID);
                if (r == NVML_SUCCESS && nvml->mig &&
                    nvml->mig(device, &mode, &pending) == NVML_SUCCESS)
                        list->has_mig |= mode != 0;
                if (r == NVML_SUCCESS)
                        card_read(nvml, device, &list->cards[i]);
        }
        return r;
}

int gpus_real(struct gpu_list *ret_list, struct err *e)
{
        struct gpu_list list = { 0 };
        struct nvml nvml = { 0 };

        if (!nvml_load(&nvml))
                return err_set(e, -ENOENT,
                               "the driver's libnvidia-ml.so.1 was not found: the GPUs "
                               "to be limited cannot be named");
        nvmlReturn_t r = nvml.init();
        if (r == NVML_SUCCESS) {
                r = nvml_read(&nvml, &list);
                nvml.shutdown();
        }
        if (r != NVML_SUCCESS)
                return err_set(e, -EIO, "the driver does not name its GPUs (NVML error %d)",
                               (int)r);
        if (list.count == 0)
                return err_set(e, -ENODEV, "the driver knows no GPU");
        machine_read(list.machine);
        *ret_list = list;
        return 0;
}
