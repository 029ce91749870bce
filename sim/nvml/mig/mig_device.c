/* SPDX-License-Identifier: Apache-2.0 */
/* mig_device: numbering and naming MIG devices. */
#include "mig_device.h"

#include <stdio.h>

#include "mig.h"

/* The used instance whose id comes next; ids are unique on a GPU. */
static unsigned next_instance(const struct machine_gpu *gpu, int after)
{
        unsigned best = TARGET_INSTANCES;

        for (unsigned i = 0; i < TARGET_INSTANCES; i++) {
                const struct machine_gpu_instance *instance = &gpu->instances[i];
                if (machine_mig_is_used(&instance->is_used) && (int)instance->id > after &&
                    (best == TARGET_INSTANCES || instance->id < gpu->instances[best].id))
                        best = i;
        }
        return best;
}

bool mig_device_at(const struct target *gpu, unsigned index, unsigned *ret_instance,
                   unsigned *ret_compute)
{
        unsigned i = next_instance(gpu->gpu, -1);

        for (; i < TARGET_INSTANCES; i = next_instance(gpu->gpu, (int)gpu->gpu->instances[i].id)) {
                for (unsigned k = 0; k < TARGET_INSTANCES; k++) {
                        if (!machine_mig_is_used(&gpu->gpu->instances[i].compute[k].is_used) ||
                            index-- > 0)
                                continue;
                        *ret_instance = i;
                        *ret_compute = k;
                        return true;
                }
        }
        return false;
}

unsigned mig_device_index(const struct target *device)
{
        unsigned index = 0, instance, compute;

        while (mig_device_at(device, index, &instance, &compute) &&
               (instance != target_instance_index(device) ||
                compute != target_compute_index(device)))
                index++;
        return index;
}

static bool compute_profile(const struct target *device, const struct mig_profile **ret_profile,
                            struct mig_compute_profile *ret_compute)
{
        *ret_profile = mig_profile_of_id(mig_model(device->gpu), device->instance->profile);
        return *ret_profile &&
               mig_compute_profile(*ret_profile, device->compute->profile, ret_compute);
}

unsigned mig_device_sm_count(const struct target *device)
{
        const struct mig_profile *profile;
        struct mig_compute_profile compute;

        return compute_profile(device, &profile, &compute) ? compute.sm_count : 0;
}

void mig_device_name(const struct target *device, char *text, size_t bytes)
{
        const struct mig_profile *profile;
        struct mig_compute_profile compute;

        if (!compute_profile(device, &profile, &compute))
                snprintf(text, bytes, "MIG");
        else if (compute.slices == profile->slices)
                snprintf(text, bytes, "MIG %s", profile->name);
        else
                snprintf(text, bytes, "MIG %uc.%s", compute.slices, profile->name);
}
