/* SPDX-License-Identifier: Apache-2.0 */
/* mig: the mode, GPU instances and MIG devices. */
#include "mig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "mig_device.h"
#include "target.h"

nvmlReturn_t sim_nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current,
                                      unsigned int *pending)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, current, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!pending)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!mig_model(t.gpu))
                return NVML_ERROR_NOT_SUPPORTED;
        *current = t.gpu->mig_mode;
        *pending = t.gpu->mig_mode_pending;
        return NVML_SUCCESS;
}

/* The call succeeds when the wish is noted; the status tells whether it took effect. */
nvmlReturn_t sim_nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode,
                                      nvmlReturn_t *activation)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, activation, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (mode > 1)
                return NVML_ERROR_INVALID_ARGUMENT;
        int result = mig_set_mode(t.machine, t.index, mode);
        if (result == -EOPNOTSUPP)
                return NVML_ERROR_NOT_SUPPORTED;
        *activation = session_result(result);
        if (result == 0)
                event_post(t.machine, t.index, NVML_EVENT_MIG_CONFIG, 0);
        return NVML_SUCCESS;
}

/* A GPU that can be cut. */
static nvmlReturn_t target_with_mig(nvmlDevice_t device, const void *answer, struct target *ret,
                                    const struct mig_model **ret_model)
{
        nvmlReturn_t r = target_gpu(device, answer, ret);

        if (r != NVML_SUCCESS)
                return r;
        *ret_model = mig_model(ret->gpu);
        return *ret_model ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t target_with_profile(nvmlDevice_t device, unsigned id, const void *answer,
                                        struct target *ret, const struct mig_profile **ret_profile)
{
        const struct mig_model *model;
        nvmlReturn_t r = target_with_mig(device, answer, ret, &model);

        if (r != NVML_SUCCESS)
                return r;
        *ret_profile = mig_profile_of_id(model, id);
        return *ret_profile ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static void profile_fill(const struct target *t, const struct mig_profile *profile,
                         nvmlGpuInstanceProfileInfo_t *ret_info)
{
        *ret_info = (nvmlGpuInstanceProfileInfo_t){
                .id = profile->id,
                .sliceCount = profile->slices,
                .instanceCount = profile->max_count,
                .multiprocessorCount = profile->sm_count,
                .copyEngineCount = profile->copy_engines,
                .decoderCount = profile->decoders,
                .encoderCount = profile->encoders,
                .jpegCount = profile->jpegs,
                .ofaCount = profile->ofas,
                .memorySizeMB = mig_memory_bytes(t->gpu, profile) >> 20,
        };
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int kind,
                                                     nvmlGpuInstanceProfileInfo_t *info)
{
        const struct mig_model *model;
        struct target t;
        nvmlReturn_t r = target_with_mig(device, info, &t, &model);

        if (r != NVML_SUCCESS)
                return r;
        if (kind >= NVML_GPU_INSTANCE_PROFILE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!mig_profile_of_kind(model, kind))
                return NVML_ERROR_NOT_SUPPORTED;
        profile_fill(&t, mig_profile_of_kind(model, kind), info);
        return NVML_SUCCESS;
}

/* Versions 2 and 3 share their size; the second has a flag where the third has capabilities. */
static nvmlReturn_t profile_fill_versioned(const struct target *t,
                                           const struct mig_profile *profile,
                                           nvmlGpuInstanceProfileInfo_v2_t *info)
{
        nvmlGpuInstanceProfileInfo_t common;
        char name[96];

        profile_fill(t, profile, &common);
        snprintf(name, sizeof name, "MIG %s", profile->name);
        if (info->version == NVML_VERSION_OF(nvmlGpuInstanceProfileInfo_v2_t, 2)) {
                *info = (nvmlGpuInstanceProfileInfo_v2_t){
                        info->version,
                        common.id,
                        0,
                        common.sliceCount,
                        common.instanceCount,
                        common.multiprocessorCount,
                        common.copyEngineCount,
                        common.decoderCount,
                        common.encoderCount,
                        common.jpegCount,
                        common.ofaCount,
                        common.memorySizeMB,
                        "",
                };
                memcpy(info->name, name, sizeof name);
                return NVML_SUCCESS;
        }
        if (info->version != NVML_VERSION_OF(nvmlGpuInstanceProfileInfo_v3_t, 3))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        nvmlGpuInstanceProfileInfo_v3_t *v3 = (nvmlGpuInstanceProfileInfo_v3_t *)info;
        *v3 = (nvmlGpuInstanceProfileInfo_v3_t){
                info->version,
                common.id,
                common.sliceCount,
                common.instanceCount,
                common.multiprocessorCount,
                common.copyEngineCount,
                common.decoderCount,
                common.encoderCount,
                common.jpegCount,
                common.ofaCount,
                common.memorySizeMB,
                "",
                0,
        };
        memcpy(v3->name, name, sizeof name);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int kind,
                                                      nvmlGpuInstanceProfileInfo_v2_t *info)
{
        const struct mig_model *model;
        struct target t;
        nvmlReturn_t r = target_with_mig(device, info, &t, &model);

        if (r != NVML_SUCCESS)
                return r;
        if (kind >= NVML_GPU_INSTANCE_PROFILE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        const struct mig_profile *profile = mig_profile_of_kind(model, kind);
        return profile ? profile_fill_versioned(&t, profile, info) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned int id,
                                                          nvmlGpuInstanceProfileInfo_v2_t *info)
{
        const struct mig_profile *profile;
        struct target t;
        nvmlReturn_t r = target_with_profile(device, id, info, &t, &profile);

        return r == NVML_SUCCESS ? profile_fill_versioned(&t, profile, info) : r;
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstancePossiblePlacements_v2(
        nvmlDevice_t device, unsigned int id, nvmlGpuInstancePlacement_t *placements,
        unsigned int *count)
{
        const struct mig_profile *profile;
        struct target t;
        nvmlReturn_t r = target_with_profile(device, id, count, &t, &profile);

        if (r != NVML_SUCCESS)
                return r;
        unsigned needed = (unsigned)__builtin_popcount(profile->starts), given = 0;
        /* Without an array it only counts. */
        if (!placements) {
                *count = needed;
                return NVML_SUCCESS;
        }
        if (!target_list_fits(count, needed, placements, &r))
                return r;
        for (unsigned k = 0; k < 8; k++)
                if (profile->starts >> k & 1)
                        placements[given++] = (nvmlGpuInstancePlacement_t){ k, profile->size };
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned int id,
                                                            nvmlGpuInstancePlacement_t *placements,
                                                            unsigned int *count)
{
        return sim_nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, id, placements, count);
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned int id,
                                                           unsigned int *count)
{
        const struct mig_profile *profile;
        struct target t;
        nvmlReturn_t r = target_with_profile(device, id, count, &t, &profile);

        if (r != NVML_SUCCESS)
                return r;
        if (!t.gpu->mig_mode)
                return NVML_ERROR_NOT_SUPPORTED;
        *count = mig_remaining(t.gpu, profile);
        return NVML_SUCCESS;
}

static nvmlReturn_t create(nvmlDevice_t device, unsigned id, int start, nvmlGpuInstance_t *instance)
{
        const struct mig_profile *profile;
        struct target t;
        unsigned index;
        nvmlReturn_t r = target_with_profile(device, id, instance, &t, &profile);

        if (r != NVML_SUCCESS)
                return r;
        r = session_result(mig_create(t.machine, t.index, id, start, &index));
        if (r == NVML_SUCCESS) {
                *instance = target_instance_handle(t.index, index);
                event_post(t.machine, t.index, NVML_EVENT_MIG_CONFIG, 0);
        }
        return r;
}

nvmlReturn_t sim_nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned int id,
                                             nvmlGpuInstance_t *instance)
{
        return create(device, id, MIG_ANYWHERE, instance);
}

nvmlReturn_t sim_nvmlDeviceCreateGpuInstanceWithPlacement(
        nvmlDevice_t device, unsigned int id, const nvmlGpuInstancePlacement_t *placement,
        nvmlGpuInstance_t *instance)
{
        if (!placement || placement->start > 7)
                return NVML_ERROR_INVALID_ARGUMENT;
        return create(device, id, (int)placement->start, instance);
}

nvmlReturn_t sim_nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance)
{
        struct target t;
        nvmlReturn_t r = target_instance(instance, instance, &t);

        if (r != NVML_SUCCESS)
                return r;
        r = session_result(mig_destroy(t.machine, t.index, target_instance_index(&t)));
        if (r == NVML_SUCCESS)
                event_post(t.machine, t.index, NVML_EVENT_MIG_CONFIG, 0);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int id,
                                           nvmlGpuInstance_t *instances, unsigned int *count)
{
        const struct mig_profile *profile;
        struct target t;
        nvmlReturn_t r = target_with_profile(device, id, count, &t, &profile);

        if (r != NVML_SUCCESS)
                return r;
        if (!instances)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!t.gpu->mig_mode)
                return NVML_ERROR_NOT_SUPPORTED;
        /* The caller's array holds as many as the profile allows. */
        *count = 0;
        for (unsigned i = 0; i < TARGET_INSTANCES && *count < profile->max_count; i++)
                if (machine_mig_is_used(&t.gpu->instances[i].is_used) &&
                    t.gpu->instances[i].profile == id)
                        instances[(*count)++] = target_instance_handle(t.index, i);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id,
                                              nvmlGpuInstance_t *instance)
{
        const struct mig_model *model;
        struct target t;
        nvmlReturn_t r = target_with_mig(device, instance, &t, &model);

        if (r != NVML_SUCCESS)
                return r;
        for (unsigned i = 0; i < TARGET_INSTANCES; i++)
                if (machine_mig_is_used(&t.gpu->instances[i].is_used) &&
                    t.gpu->instances[i].id == id) {
                        *instance = target_instance_handle(t.index, i);
                        return NVML_SUCCESS;
                }
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t sim_nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info)
{
        struct target t;
        nvmlReturn_t r = target_instance(instance, info, &t);

        if (r == NVML_SUCCESS)
                *info = (nvmlGpuInstanceInfo_t){
                        .device = target_handle(t.index),
                        .id = t.instance->id,
                        .profileId = t.instance->profile,
                        .placement = { t.instance->start, t.instance->size },
                };
        return r;
}

nvmlReturn_t sim_nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig)
{
        struct target t;
        nvmlReturn_t r = target_any(device, is_mig, &t);

        if (r == NVML_SUCCESS)
                *is_mig = t.compute != NULL;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
        const struct mig_model *model;
        struct target t;
        nvmlReturn_t r = target_any(device, count, &t);

        if (r != NVML_SUCCESS)
                return r;
        model = mig_model(t.gpu);
        *count = model ? model->slices : 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                     nvmlDevice_t *mig_device)
{
        const struct mig_model *model;
        struct target t;
        unsigned instance, compute;
        nvmlReturn_t r = target_with_mig(device, mig_device, &t, &model);

        if (r != NVML_SUCCESS)
                return r;
        if (!t.gpu->mig_mode)
                return NVML_ERROR_NOT_SUPPORTED;
        if (index >= model->slices)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!mig_device_at(&t, index, &instance, &compute))
                return NVML_ERROR_NOT_FOUND;
        *mig_device = target_mig_handle(t.index, instance, compute);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig_device,
                                                              nvmlDevice_t *device)
{
        struct target t;
        nvmlReturn_t r = target_any(mig_device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!t.compute)
                return NVML_ERROR_INVALID_ARGUMENT;
        *device = target_handle(t.index);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
        struct target t;
        nvmlReturn_t r = target_any(device, id, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!t.compute)
                return NVML_ERROR_NOT_SUPPORTED;
        *id = t.instance->id;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
        struct target t;
        nvmlReturn_t r = target_any(device, id, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!t.compute)
                return NVML_ERROR_NOT_SUPPORTED;
        *id = t.compute->id;
        return NVML_SUCCESS;
}
