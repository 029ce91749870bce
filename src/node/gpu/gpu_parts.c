/* SPDX-License-Identifier: Apache-2.0 */
/* MIG devices of the GPUs. A profile is read from the device's name, in which the driver itself has
 * rounded the memory: "NVIDIA A100-SXM4-40GB MIG 1g.5gb". */
#include <string.h>

#include "gpu.h"

static bool profile_of(const char *name, struct mig_profile *ret_profile)
{
        const char *profile = strstr(name, "MIG ");

        return profile && mig_profile_parse(profile + strlen("MIG "), ret_profile);
}

static bool part_read(const struct nvml *nvml, nvmlDevice_t device, struct mig_device *ret_part)
{
        struct mig_device part = { 0 };
        nvmlMemory_t memory = { 0 };
        char name[96];

        if (nvml->uuid(device, part.uuid, sizeof part.uuid) != NVML_SUCCESS ||
            nvml->name(device, name, sizeof name) != NVML_SUCCESS ||
            nvml->memory(device, &memory) != NVML_SUCCESS || !profile_of(name, &part.profile))
                return false;
        part.memory_bytes = memory.total;
        *ret_part = part;
        return true;
}

/* Indices may have gaps. */
static void parts_read(const struct nvml *nvml, unsigned gpu, nvmlDevice_t parent,
                       struct gpu_set *set)
{
        unsigned int most = 0;

        if (nvml->mig_count(parent, &most) != NVML_SUCCESS)
                return;
        for (unsigned i = 0; i < most && set->part_count < MIG_DEVICES_MOST; i++) {
                struct mig_device part;
                nvmlDevice_t device;

                if (nvml->mig_handle(parent, i, &device) != NVML_SUCCESS ||
                    !part_read(nvml, device, &part))
                        continue;
                part.gpu = gpu;
                set->parts[set->part_count++] = part;
        }
}

/* A GPU that does not answer keeps its MIG devices: they are unhealthy, not gone. */
static void parts_keep(const struct gpu_set *before, unsigned gpu, struct gpu_set *set)
{
        for (unsigned i = 0; i < before->part_count && set->part_count < MIG_DEVICES_MOST; i++)
                if (before->parts[i].gpu == gpu)
                        set->parts[set->part_count++] = before->parts[i];
}

static bool parts_differ(const struct gpu_set *a, const struct gpu_set *b)
{
        if (a->part_count != b->part_count)
                return true;
        for (unsigned i = 0; i < a->part_count; i++)
                if (strcmp(a->parts[i].uuid, b->parts[i].uuid) != 0)
                        return true;
        return false;
}

/* false: the GPU does not say, and what was known of it stays. */
static bool gpu_is_mig(const struct nvml *nvml, const struct gpu *gpu, nvmlDevice_t *ret_parent,
                       bool *ret_is_mig)
{
        unsigned int mode = 0, pending = 0;
        nvmlReturn_t r = nvml->handle(gpu->index, ret_parent);

        if (r == NVML_SUCCESS)
                r = nvml->mig(*ret_parent, &mode, &pending);
        *ret_is_mig = mode != 0;
        return r == NVML_SUCCESS || r == NVML_ERROR_NOT_SUPPORTED;
}

bool gpu_set_read_parts(const struct nvml *nvml, struct gpu_set *set)
{
        const struct gpu_set before = *set;
        bool has_changed = false;

        if (!nvml->mig)
                return false;
        set->part_count = 0;
        for (unsigned i = 0; i < set->count; i++) {
                struct gpu *gpu = &set->gpus[i];
                nvmlDevice_t parent;
                bool is_mig;

                if (!gpu_is_mig(nvml, gpu, &parent, &is_mig)) {
                        parts_keep(&before, i, set);
                        continue;
                }
                has_changed |= gpu->is_mig != is_mig;
                gpu->is_mig = is_mig;
                if (is_mig)
                        parts_read(nvml, i, parent, set);
        }
        return has_changed || parts_differ(&before, set);
}

int gpu_set_find(const struct gpu_set *set, const char *uuid)
{
        for (unsigned i = 0; i < set->count; i++)
                if (strcmp(set->gpus[i].uuid, uuid) == 0)
                        return (int)i;
        for (unsigned i = 0; i < set->part_count; i++)
                if (strcmp(set->parts[i].uuid, uuid) == 0)
                        return (int)set->parts[i].gpu;
        return -1;
}
