/* What cards are cut into (MIG). A profile is read from the device's name, in which the driver itself has
 * rounded the memory: "NVIDIA A100-SXM4-40GB MIG 1g.5gb". */
#include <string.h>

#include "gpu.h"

static bool profile_of(const char *name, struct mig_profile *ret_profile)
{
        const char *word = strstr(name, "MIG ");

        return word && mig_profile_parse(word + strlen("MIG "), ret_profile);
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
static void card_read(const struct nvml *nvml, unsigned gpu, nvmlDevice_t card, struct gpu_set *set)
{
        unsigned int most = 0;

        if (nvml->mig_count(card, &most) != NVML_SUCCESS)
                return;
        for (unsigned i = 0; i < most && set->part_count < MIG_DEVICES_MOST; i++) {
                struct mig_device part;
                nvmlDevice_t device;

                if (nvml->mig_handle(card, i, &device) != NVML_SUCCESS ||
                    !part_read(nvml, device, &part))
                        continue;
                part.gpu = gpu;
                set->parts[set->part_count++] = part;
        }
}

/* A card that does not answer keeps its parts: they are sick, not gone. */
static void card_keep(const struct gpu_set *before, unsigned gpu, struct gpu_set *set)
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

/* false: the card does not say, and what was known of it stays. */
static bool card_is_cut(const struct nvml *nvml, const struct gpu *gpu, nvmlDevice_t *ret_card,
                        bool *ret_is_cut)
{
        unsigned int mode = 0, pending = 0;
        nvmlReturn_t r = nvml->handle(gpu->index, ret_card);

        if (r == NVML_SUCCESS)
                r = nvml->mig(*ret_card, &mode, &pending);
        *ret_is_cut = mode != 0;
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
                nvmlDevice_t card;
                bool is_cut;

                if (!card_is_cut(nvml, gpu, &card, &is_cut)) {
                        card_keep(&before, i, set);
                        continue;
                }
                has_changed |= gpu->is_mig != is_cut;
                gpu->is_mig = is_cut;
                if (is_cut)
                        card_read(nvml, i, card, set);
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
