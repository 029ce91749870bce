/* SPDX-License-Identifier: Apache-2.0 */
/* device: finding devices, and who they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "board.h"
#include "mig.h"
#include "mig_device.h"
#include "target.h"

nvmlReturn_t sim_nvmlDeviceGetCount_v2(unsigned int *count)
{
        if (!count)
                return NVML_ERROR_INVALID_ARGUMENT;
        *count = session_machine()->file->header.gpu_count;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetCount(unsigned int *count)
{
        return sim_nvmlDeviceGetCount_v2(count);
}

/* Hands out the handle; a GPU that fell off the bus cannot be opened any more. */
static nvmlReturn_t give_handle(nvmlDevice_t handle, nvmlDevice_t *device)
{
        struct target t;
        nvmlReturn_t r = target_any(handle, device, &t);

        if (r == NVML_SUCCESS)
                *device = handle;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
        if (index >= session_machine()->file->header.gpu_count)
                return NVML_ERROR_INVALID_ARGUMENT;
        return give_handle(target_handle(index), device);
}

nvmlReturn_t sim_nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
        return sim_nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t sim_nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
        const struct machine *machine = session_machine();

        if (!serial || !device)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < machine->file->header.gpu_count; i++)
                if (strcmp(machine_gpu(machine, i)->serial, serial) == 0)
                        return give_handle(target_handle(i), device);
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t sim_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
        const struct machine *machine = session_machine();
        unsigned gpu, instance, compute;

        if (!uuid || !device)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < machine->file->header.gpu_count; i++)
                if (strcasecmp(machine_gpu(machine, i)->uuid, uuid) == 0)
                        return give_handle(target_handle(i), device);
        if (strncasecmp(uuid, "MIG-", 4) == 0 && mig_find(machine, uuid, &gpu, &instance, &compute))
                return give_handle(target_mig_handle(gpu, instance, compute), device);
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t sim_nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
        static const char *const prefixes[] = { "GPU-", "MIG-" };
        char text[sizeof uuid->value.str + 1];
        const unsigned char *b;

        if (!uuid || !device)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (uuid->version != NVML_VERSION_OF(nvmlUUID_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (uuid->type == 1) {
                snprintf(text, sizeof text, "%.*s", (int)sizeof uuid->value.str, uuid->value.str);
                return sim_nvmlDeviceGetHandleByUUID(text, device);
        }
        if (uuid->type != 2)
                return NVML_ERROR_INVALID_ARGUMENT;
        b = uuid->value.bytes;
        for (unsigned i = 0; i < 2; i++) {
                snprintf(text, sizeof text,
                         "%s%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                         prefixes[i], b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
                         b[10], b[11], b[12], b[13], b[14], b[15]);
                if (sim_nvmlDeviceGetHandleByUUID(text, device) == NVML_SUCCESS)
                        return NVML_SUCCESS;
        }
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t sim_nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
        struct target t;
        nvmlReturn_t r = target_any(device, index, &t);

        if (r == NVML_SUCCESS)
                *index = t.compute ? mig_device_index(&t) : t.index;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, minor, &t);

        if (r == NVML_SUCCESS)
                *minor = t.index;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
        struct target t;
        char text[160];
        nvmlReturn_t r = target_any(device, name, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!t.compute)
                return target_text(t.gpu->name, name, length);
        char profile[64];
        mig_device_name(&t, profile, sizeof profile);
        snprintf(text, sizeof text, "%s %s", t.gpu->name, profile);
        return target_text(text, name, length);
}

nvmlReturn_t sim_nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
        struct target t;
        nvmlReturn_t r = target_any(device, uuid, &t);

        return r != NVML_SUCCESS
                       ? r
                       : target_text(t.compute ? t.compute->uuid : t.gpu->uuid, uuid, length);
}

nvmlReturn_t sim_nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, serial, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (t.gpu->brand == NVML_BRAND_GEFORCE)
                return NVML_ERROR_NOT_SUPPORTED;
        return target_text(t.gpu->serial, serial, length);
}

nvmlReturn_t sim_nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand)
{
        struct target t;
        nvmlReturn_t r = target_any(device, brand, &t);

        if (r == NVML_SUCCESS)
                *brand = (nvmlBrandType_t)t.gpu->brand;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
        struct target t;
        nvmlReturn_t r = target_any(device, arch, &t);

        if (r == NVML_SUCCESS)
                *arch = t.gpu->architecture;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
        struct target t;
        nvmlReturn_t r = target_any(device, major, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!minor)
                return NVML_ERROR_INVALID_ARGUMENT;
        *major = (int)t.gpu->capability_major;
        *minor = (int)t.gpu->capability_minor;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int *cores)
{
        struct target t;
        nvmlReturn_t r = target_any(device, cores, &t);

        if (r == NVML_SUCCESS)
                *cores = t.gpu->cores_per_sm *
                         (t.compute ? mig_device_sm_count(&t) : t.gpu->sm_count);
        return r;
}

static nvmlReturn_t attributes_of(const struct target *t, nvmlDeviceAttributes_t *ret_attributes)
{
        const struct mig_profile *profile;

        if (!t->compute)
                return NVML_ERROR_NOT_SUPPORTED;
        profile = mig_profile_of_id(mig_model(t->gpu), t->instance->profile);
        *ret_attributes = (nvmlDeviceAttributes_t){
                .multiprocessorCount = mig_device_sm_count(t),
                .sharedCopyEngineCount = profile->copy_engines,
                .sharedDecoderCount = profile->decoders,
                .sharedEncoderCount = profile->encoders,
                .sharedJpegCount = profile->jpegs,
                .sharedOfaCount = profile->ofas,
                .gpuInstanceSliceCount = profile->slices,
                .computeInstanceSliceCount = t->compute->slices,
                .memorySizeMB = mig_memory_bytes(t->gpu, profile) >> 20,
        };
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
        struct target t;
        nvmlReturn_t r = target_any(device, attributes, &t);

        return r != NVML_SUCCESS ? r : attributes_of(&t, attributes);
}

/* The first version ends before the memory size. */
nvmlReturn_t sim_nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
        struct target t;
        nvmlDeviceAttributes_t full;
        nvmlReturn_t r = target_any(device, attributes, &t);

        if (r == NVML_SUCCESS)
                r = attributes_of(&t, &full);
        if (r == NVML_SUCCESS)
                memcpy(attributes, &full, offsetof(nvmlDeviceAttributes_t, memorySizeMB));
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int *id)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, id, &t);

        if (r == NVML_SUCCESS)
                *id = t.gpu->pci_domain << 16 | t.gpu->pci_bus << 8;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int *is_multi)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, is_multi, &t);

        if (r == NVML_SUCCESS)
                *is_multi = 0;
        return r;
}

nvmlReturn_t sim_nvmlDeviceOnSameBoard(nvmlDevice_t first, nvmlDevice_t second, int *is_same)
{
        struct target a, b;
        nvmlReturn_t r = target_gpu(first, is_same, &a);

        if (r == NVML_SUCCESS)
                r = target_gpu(second, is_same, &b);
        if (r == NVML_SUCCESS)
                *is_same = a.index == b.index;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned int *id)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, id, &t);

        if (r == NVML_SUCCESS)
                *id = t.index + 1;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetPdi(nvmlDevice_t device, nvmlPdi_t *pdi)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, pdi, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (pdi->version != NVML_VERSION_OF(nvmlPdi_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        pdi->value = strtoull(t.gpu->serial, NULL, 10) * UINT64_C(0x9e3779b97f4a7c15);
        return NVML_SUCCESS;
}
