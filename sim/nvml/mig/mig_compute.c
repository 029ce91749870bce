/* SPDX-License-Identifier: Apache-2.0 */
/* mig_compute: compute instances within a GPU instance. */
#include <stdio.h>
#include <string.h>

#include "mig.h"
#include "target.h"

/* A profile of compute instances within this GPU instance. */
static nvmlReturn_t target_with_profile(nvmlGpuInstance_t handle, unsigned id, const void *answer,
                                        struct target *ret, const struct mig_profile **ret_profile,
                                        struct mig_compute_profile *ret_compute)
{
        nvmlReturn_t r = target_instance(handle, answer, ret);

        if (r != NVML_SUCCESS)
                return r;
        if (id >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_profile = mig_profile_of_id(mig_model(ret->gpu), ret->instance->profile);
        return mig_compute_profile(*ret_profile, id, ret_compute) ? NVML_SUCCESS
                                                                  : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t profile_fill(nvmlGpuInstance_t handle, unsigned id, unsigned engines,
                                 const void *answer, nvmlComputeInstanceProfileInfo_t *ret_info,
                                 char ret_name[96])
{
        const struct mig_profile *profile;
        struct mig_compute_profile compute;
        struct target t;
        nvmlReturn_t r = target_with_profile(handle, id, answer, &t, &profile, &compute);

        if (r != NVML_SUCCESS)
                return r;
        if (engines != NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_info = (nvmlComputeInstanceProfileInfo_t){
                .id = compute.id,
                .sliceCount = compute.slices,
                .instanceCount = compute.max_count,
                .multiprocessorCount = compute.sm_count,
                .sharedCopyEngineCount = profile->copy_engines,
                .sharedDecoderCount = profile->decoders,
                .sharedEncoderCount = profile->encoders,
                .sharedJpegCount = profile->jpegs,
                .sharedOfaCount = profile->ofas,
        };
        if (compute.slices == profile->slices)
                snprintf(ret_name, 96, "MIG %s", profile->name);
        else
                snprintf(ret_name, 96, "MIG %uc.%s", compute.slices, profile->name);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstanceProfileInfo(
        nvmlGpuInstance_t instance, unsigned int id, unsigned int engines,
        nvmlComputeInstanceProfileInfo_t *info)
{
        nvmlComputeInstanceProfileInfo_t common;
        char name[96];
        nvmlReturn_t r = profile_fill(instance, id, engines, info, &common, name);

        if (r == NVML_SUCCESS)
                *info = common;
        return r;
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstanceProfileInfoV(
        nvmlGpuInstance_t instance, unsigned int id, unsigned int engines,
        nvmlComputeInstanceProfileInfo_v2_t *info)
{
        nvmlComputeInstanceProfileInfo_t common;
        char name[96] = "";
        nvmlReturn_t r = profile_fill(instance, id, engines, info, &common, name);

        if (r != NVML_SUCCESS)
                return r;
        bool is_v3 = info->version == NVML_VERSION_OF(nvmlComputeInstanceProfileInfo_v3_t, 3);
        if (!is_v3 && info->version != NVML_VERSION_OF(nvmlComputeInstanceProfileInfo_v2_t, 2))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        info->common = common;
        memcpy(info->name, name, sizeof name);
        if (is_v3)
                ((nvmlComputeInstanceProfileInfo_v3_t *)info)->capabilities = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t instance,
                                                                    unsigned int id,
                                                                    unsigned int *count)
{
        const struct mig_profile *profile;
        struct mig_compute_profile compute;
        struct target t;
        nvmlReturn_t r = target_with_profile(instance, id, count, &t, &profile, &compute);

        if (r == NVML_SUCCESS)
                *count = mig_compute_remaining(t.instance, &compute);
        return r;
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstancePossiblePlacements(
        nvmlGpuInstance_t instance, unsigned int id, nvmlComputeInstancePlacement_t *placements,
        unsigned int *count)
{
        const struct mig_profile *profile;
        struct mig_compute_profile compute;
        struct target t;
        nvmlReturn_t r = target_with_profile(instance, id, count, &t, &profile, &compute);

        if (r != NVML_SUCCESS)
                return r;
        unsigned needed = (unsigned)__builtin_popcount(compute.starts), given = 0;
        if (!placements) {
                *count = needed;
                return NVML_SUCCESS;
        }
        if (!target_list_fits(count, needed, placements, &r))
                return r;
        for (unsigned k = 0; k < 8; k++)
                if (compute.starts >> k & 1)
                        placements[given++] = (nvmlComputeInstancePlacement_t){ k, compute.slices };
        return NVML_SUCCESS;
}

static nvmlReturn_t create(nvmlGpuInstance_t handle, unsigned id, int start,
                           nvmlComputeInstance_t *made)
{
        const struct mig_profile *profile;
        struct mig_compute_profile compute;
        struct target t;
        unsigned index;
        nvmlReturn_t r = target_with_profile(handle, id, made, &t, &profile, &compute);

        if (r != NVML_SUCCESS)
                return r;
        unsigned instance = target_instance_index(&t);
        r = session_result(mig_compute_create(t.machine, t.index, instance, id, start, &index));
        if (r == NVML_SUCCESS)
                *made = target_compute_handle(t.index, instance, index);
        return r;
}

nvmlReturn_t sim_nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance, unsigned int id,
                                                      nvmlComputeInstance_t *compute)
{
        return create(instance, id, MIG_ANYWHERE, compute);
}

nvmlReturn_t sim_nvmlGpuInstanceCreateComputeInstanceWithPlacement(
        nvmlGpuInstance_t instance, unsigned int id,
        const nvmlComputeInstancePlacement_t *placement, nvmlComputeInstance_t *compute)
{
        if (!placement || placement->start > 7)
                return NVML_ERROR_INVALID_ARGUMENT;
        return create(instance, id, (int)placement->start, compute);
}

nvmlReturn_t sim_nvmlComputeInstanceDestroy(nvmlComputeInstance_t compute)
{
        struct target t;
        nvmlReturn_t r = target_compute(compute, compute, &t);

        return r != NVML_SUCCESS ? r
                                 : session_result(mig_compute_destroy(t.machine, t.index,
                                                                      target_instance_index(&t),
                                                                      target_compute_index(&t)));
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned int id,
                                                    nvmlComputeInstance_t *computes,
                                                    unsigned int *count)
{
        const struct mig_profile *profile;
        struct mig_compute_profile compute;
        struct target t;
        nvmlReturn_t r = target_with_profile(instance, id, count, &t, &profile, &compute);

        if (r != NVML_SUCCESS)
                return r;
        if (!computes)
                return NVML_ERROR_INVALID_ARGUMENT;
        *count = 0;
        for (unsigned k = 0; k < TARGET_INSTANCES && *count < compute.max_count; k++)
                if (machine_mig_is_used(&t.instance->compute[k].is_used) &&
                    t.instance->compute[k].profile == id)
                        computes[(*count)++] =
                                target_compute_handle(t.index, target_instance_index(&t), k);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned int id,
                                                       nvmlComputeInstance_t *compute)
{
        struct target t;
        nvmlReturn_t r = target_instance(instance, compute, &t);

        if (r != NVML_SUCCESS)
                return r;
        for (unsigned k = 0; k < TARGET_INSTANCES; k++)
                if (machine_mig_is_used(&t.instance->compute[k].is_used) &&
                    t.instance->compute[k].id == id) {
                        *compute = target_compute_handle(t.index, target_instance_index(&t), k);
                        return NVML_SUCCESS;
                }
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t sim_nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t compute,
                                               nvmlComputeInstanceInfo_t *info)
{
        struct target t;
        nvmlReturn_t r = target_compute(compute, info, &t);

        if (r == NVML_SUCCESS)
                *info = (nvmlComputeInstanceInfo_t){
                        .device = target_handle(t.index),
                        .gpuInstance = target_instance_handle(t.index, target_instance_index(&t)),
                        .id = t.compute->id,
                        .profileId = t.compute->profile,
                        .placement = { t.compute->start, t.compute->slices },
                };
        return r;
}

/* The first version's structure ends before the placement. */
nvmlReturn_t sim_nvmlComputeInstanceGetInfo(nvmlComputeInstance_t compute,
                                            nvmlComputeInstanceInfo_t *info)
{
        nvmlComputeInstanceInfo_t full;
        nvmlReturn_t r;

        if (!info)
                return NVML_ERROR_INVALID_ARGUMENT;
        r = sim_nvmlComputeInstanceGetInfo_v2(compute, &full);
        if (r == NVML_SUCCESS)
                *(nvmlComputeInstanceInfo_v1_t *)info = (nvmlComputeInstanceInfo_v1_t){
                        .device = full.device,
                        .gpuInstance = full.gpuInstance,
                        .id = full.id,
                        .profileId = full.profileId,
                };
        return r;
}
