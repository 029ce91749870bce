/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu: virtual GPUs for virtual machines: as a host answers that has neither licence nor manager. */
#include "target.h"

/* The question is understood; the answer is that this host does not do it. */
static nvmlReturn_t not_a_vgpu_host(nvmlDevice_t device)
{
        struct target t;
        nvmlReturn_t r = target_any(device, device, &t);

        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetHostVgpuMode(nvmlDevice_t device, nvmlHostVgpuMode_t *mode)
{
        (void)mode;
        return not_a_vgpu_host(device);
}

nvmlReturn_t sim_nvmlDeviceGetActiveVgpus(nvmlDevice_t device, unsigned int *count,
                                          nvmlVgpuInstance_t *instances)
{
        (void)count, (void)instances;
        return not_a_vgpu_host(device);
}

nvmlReturn_t sim_nvmlDeviceGetSupportedVgpus(nvmlDevice_t device, unsigned int *count,
                                             nvmlVgpuTypeId_t *types)
{
        (void)count, (void)types;
        return not_a_vgpu_host(device);
}

nvmlReturn_t sim_nvmlDeviceGetCreatableVgpus(nvmlDevice_t device, unsigned int *count,
                                             nvmlVgpuTypeId_t *types)
{
        (void)count, (void)types;
        return not_a_vgpu_host(device);
}

nvmlReturn_t sim_nvmlDeviceGetVgpuCapabilities(nvmlDevice_t device,
                                               nvmlDeviceVgpuCapability_t capability,
                                               unsigned int *result)
{
        (void)capability, (void)result;
        return not_a_vgpu_host(device);
}

nvmlReturn_t sim_nvmlDeviceGetVgpuHeterogeneousMode(nvmlDevice_t device,
                                                    nvmlVgpuHeterogeneousMode_t *mode)
{
        (void)mode;
        return not_a_vgpu_host(device);
}

nvmlReturn_t sim_nvmlDeviceGetVgpuUtilization(nvmlDevice_t device, unsigned long long last_seen_us,
                                              nvmlValueType_t *type, unsigned int *count,
                                              nvmlVgpuInstanceUtilizationSample_t *samples)
{
        (void)last_seen_us, (void)type, (void)count, (void)samples;
        return not_a_vgpu_host(device);
}

nvmlReturn_t sim_nvmlDeviceGetVgpuProcessUtilization(nvmlDevice_t device,
                                                     unsigned long long last_seen_us,
                                                     unsigned int *count,
                                                     nvmlVgpuProcessUtilizationSample_t *samples)
{
        (void)last_seen_us, (void)count, (void)samples;
        return not_a_vgpu_host(device);
}

nvmlReturn_t sim_nvmlDeviceGetVgpuSchedulerCapabilities(
        nvmlDevice_t device, nvmlVgpuSchedulerCapabilities_t *capabilities)
{
        (void)capabilities;
        return not_a_vgpu_host(device);
}

/* Four generations of one structure; all begin with these two words. */
static nvmlReturn_t give_no_licence(nvmlDevice_t device, nvmlGridLicensableFeatures_t *features)
{
        struct target t;
        nvmlReturn_t r = target_any(device, features, &t);

        if (r != NVML_SUCCESS)
                return r;
        features->isGridLicenseSupported = 0;
        features->licensableFeaturesCount = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGridLicensableFeatures(nvmlDevice_t device,
                                                     nvmlGridLicensableFeatures_t *features)
{
        return give_no_licence(device, features);
}

nvmlReturn_t sim_nvmlDeviceGetGridLicensableFeatures_v2(nvmlDevice_t device,
                                                        nvmlGridLicensableFeatures_t *features)
{
        return give_no_licence(device, features);
}

nvmlReturn_t sim_nvmlDeviceGetGridLicensableFeatures_v3(nvmlDevice_t device,
                                                        nvmlGridLicensableFeatures_t *features)
{
        return give_no_licence(device, features);
}

nvmlReturn_t sim_nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device,
                                                        nvmlGridLicensableFeatures_t *features)
{
        return give_no_licence(device, features);
}

nvmlReturn_t sim_nvmlGetVgpuDriverCapabilities(nvmlVgpuDriverCapability_t capability,
                                               unsigned int *result)
{
        (void)capability;
        return result ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlGetVgpuVersion(nvmlVgpuVersion_t *supported, nvmlVgpuVersion_t *current)
{
        return supported && current ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}
