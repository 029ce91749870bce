/* SPDX-License-Identifier: Apache-2.0 */
/* device_state: modes that an operator sets, firmware versions, and odd features. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "board.h"
#include "load.h"
#include "target.h"

nvmlReturn_t sim_nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, mode, &t);

        if (r == NVML_SUCCESS)
                *mode = (nvmlEnableState_t)t.gpu->persistence_mode;
        return r;
}

nvmlReturn_t sim_nvmlDeviceSetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)mode > NVML_FEATURE_ENABLED)
                return NVML_ERROR_INVALID_ARGUMENT;
        t.gpu->persistence_mode = mode;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
        struct target t;
        nvmlReturn_t r = target_any(device, mode, &t);

        if (r == NVML_SUCCESS)
                *mode = (nvmlComputeMode_t)t.gpu->compute_mode;
        return r;
}

nvmlReturn_t sim_nvmlDeviceSetComputeMode(nvmlDevice_t device, nvmlComputeMode_t mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)mode >= NVML_COMPUTEMODE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        /* One context per thread ended with Kepler; MIG knows only the default. */
        if (mode == NVML_COMPUTEMODE_EXCLUSIVE_THREAD || (t.gpu->mig_mode && mode))
                return NVML_ERROR_NOT_SUPPORTED;
        t.gpu->compute_mode = mode;
        return NVML_SUCCESS;
}

static nvmlReturn_t give_disabled(nvmlDevice_t device, nvmlEnableState_t *state)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, state, &t);

        if (r == NVML_SUCCESS)
                *state = NVML_FEATURE_DISABLED;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t *is_active)
{
        return give_disabled(device, is_active);
}

nvmlReturn_t sim_nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
        return give_disabled(device, mode);
}

/* What these GPUs, or this operating system, do not have. */
static nvmlReturn_t not_on_this_gpu(nvmlDevice_t device)
{
        struct target t;
        nvmlReturn_t r = target_any(device, device, &t);

        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetDriverModel(nvmlDevice_t device, nvmlDriverModel_t *current,
                                          nvmlDriverModel_t *pending)
{
        (void)current, (void)pending;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceGetDriverModel_v2(nvmlDevice_t device, nvmlDriverModel_t *current,
                                             nvmlDriverModel_t *pending)
{
        (void)current, (void)pending;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceSetDriverModel(nvmlDevice_t device, nvmlDriverModel_t model,
                                          unsigned int flags)
{
        (void)model, (void)flags;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceGetGpuOperationMode(nvmlDevice_t device, nvmlGpuOperationMode_t *current,
                                               nvmlGpuOperationMode_t *pending)
{
        (void)current, (void)pending;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceSetGpuOperationMode(nvmlDevice_t device, nvmlGpuOperationMode_t mode)
{
        (void)mode;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceGetBridgeChipInfo(nvmlDevice_t device,
                                             nvmlBridgeChipHierarchy_t *hierarchy)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, hierarchy, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!board_of(t.gpu)->has_bridge)
                return NVML_ERROR_NOT_SUPPORTED;
        *hierarchy = (nvmlBridgeChipHierarchy_t){
                .bridgeCount = 1,
                .bridgeChipInfo = { { .type = NVML_BRIDGE_CHIP_PLX } },
        };
        return NVML_SUCCESS;
}

/* The event recorder was last written out when the driver came up: at the machine's time 0. */
nvmlReturn_t sim_nvmlDeviceGetLastBBXFlushTime(nvmlDevice_t device, unsigned long long *timestamp,
                                               unsigned long *duration_us)
{
        struct timespec now, boot;
        struct target t;
        nvmlReturn_t r = target_gpu(device, duration_us ? timestamp : NULL, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!board_of(t.gpu)->black_box_us)
                return NVML_ERROR_NOT_SUPPORTED;
        clock_gettime(CLOCK_REALTIME, &now);
        clock_gettime(CLOCK_MONOTONIC, &boot);
        int64_t boot_us =
                (now.tv_sec - boot.tv_sec) * INT64_C(1000000) + (now.tv_nsec - boot.tv_nsec) / 1000;
        *timestamp = (uint64_t)boot_us + t.machine->file->header.epoch_ns / 1000;
        *duration_us = board_of(t.gpu)->black_box_us;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *info)
{
        (void)info;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceGetDramEncryptionMode(nvmlDevice_t device,
                                                 nvmlDramEncryptionInfo_t *current,
                                                 nvmlDramEncryptionInfo_t *pending)
{
        (void)current, (void)pending;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceGetVirtualizationMode(nvmlDevice_t device,
                                                 nvmlGpuVirtualizationMode_t *mode)
{
        struct target t;
        nvmlReturn_t r = target_any(device, mode, &t);

        if (r == NVML_SUCCESS)
                *mode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
        return r;
}

nvmlReturn_t sim_nvmlDeviceSetVirtualizationMode(nvmlDevice_t device,
                                                 nvmlGpuVirtualizationMode_t mode)
{
        (void)mode;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceGetPgpuMetadataString(nvmlDevice_t device, char *metadata,
                                                 unsigned int *bytes)
{
        (void)metadata, (void)bytes;
        return not_on_this_gpu(device);
}

/* A version of the firmware; GPUs that do not tell answer so. */
static nvmlReturn_t give_version(const char *version, char *text, unsigned length)
{
        return version ? target_text(version, text, length) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned int length)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, version, &t);

        return r != NVML_SUCCESS ? r : give_version(board_of(t.gpu)->vbios, version, length);
}

nvmlReturn_t sim_nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char *part, unsigned int length)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, part, &t);

        return r != NVML_SUCCESS ? r : give_version(board_of(t.gpu)->part, part, length);
}

nvmlReturn_t sim_nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char *version,
                                                  unsigned int length)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, version, &t);

        return r != NVML_SUCCESS ? r : give_version(board_of(t.gpu)->image, version, length);
}

nvmlReturn_t sim_nvmlDeviceGetInforomVersion(nvmlDevice_t device, nvmlInforomObject_t object,
                                             char *version, unsigned int length)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, version, &t);

        if (r != NVML_SUCCESS)
                return r;
        const struct board *board = board_of(t.gpu);
        switch (object) {
        case NVML_INFOROM_OEM:
                return give_version(board->oem, version, length);
        case NVML_INFOROM_ECC:
                return give_version(board->ecc, version, length);
        case NVML_INFOROM_POWER:
                return give_version(board->power, version, length);
        case NVML_INFOROM_DEN:
                return NVML_ERROR_NOT_SUPPORTED;
        default:
                return NVML_ERROR_INVALID_ARGUMENT;
        }
}

nvmlReturn_t sim_nvmlDeviceGetInforomConfigurationChecksum(nvmlDevice_t device,
                                                           unsigned int *checksum)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, checksum, &t);

        if (r != NVML_SUCCESS)
                return r;
        *checksum = 0x811c9dc5;
        for (const char *p = t.gpu->serial; *p; p++)
                *checksum = (*checksum ^ (unsigned char)*p) * 0x01000193;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned int *is_enabled,
                                              unsigned int *default_mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, is_enabled, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!default_mode)
                return NVML_ERROR_INVALID_ARGUMENT;
        *is_enabled = *default_mode = board_of(t.gpu)->has_gsp;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, version, &t);

        if (r != NVML_SUCCESS)
                return r;
        return board_of(t.gpu)->has_gsp
                       ? target_text(t.machine->file->header.driver_text, version, 0x40)
                       : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetIrqNum(nvmlDevice_t device, unsigned int *irq)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, irq, &t);

        if (r == NVML_SUCCESS)
                *irq = 120 + t.index;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetAPIRestriction(nvmlDevice_t device, nvmlRestrictedAPI_t api,
                                             nvmlEnableState_t *is_restricted)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, is_restricted, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)api >= NVML_RESTRICTED_API_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (api == NVML_RESTRICTED_API_SET_AUTO_BOOSTED_CLOCKS)
                return NVML_ERROR_NOT_SUPPORTED;
        *is_restricted = NVML_FEATURE_ENABLED;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceSetAPIRestriction(nvmlDevice_t device, nvmlRestrictedAPI_t api,
                                             nvmlEnableState_t is_restricted)
{
        (void)api, (void)is_restricted;
        return not_on_this_gpu(device);
}

nvmlReturn_t sim_nvmlDeviceGetCapabilities(nvmlDevice_t device, nvmlDeviceCapabilities_t *caps)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, caps, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (caps->version != NVML_VERSION_OF(nvmlDeviceCapabilities_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        caps->capMask = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t *mode)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, mode, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (mode->version != NVML_VERSION_OF(nvmlDeviceAddressingMode_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        mode->value = 0;
        return NVML_SUCCESS;
}

/* Only Hopper and later join an NVLink fabric that has a name. */
static bool has_fabric(const struct target *t)
{
        return t->gpu->architecture >= NVML_DEVICE_ARCH_HOPPER && t->gpu->link_peer[0] == -1;
}

enum { FABRIC_NOT_SUPPORTED = 0, FABRIC_COMPLETED = 3, FABRIC_BANDWIDTH_FULL = 2 };

nvmlReturn_t sim_nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, info, &t);

        if (r != NVML_SUCCESS)
                return r;
        memset(info->clusterUuid, 0, sizeof info->clusterUuid);
        info->status = NVML_SUCCESS;
        info->cliqueId = 0;
        info->state = has_fabric(&t) ? FABRIC_COMPLETED : FABRIC_NOT_SUPPORTED;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, info, &t);

        if (r != NVML_SUCCESS)
                return r;
        bool is_v3 = info->version == NVML_VERSION_OF(nvmlGpuFabricInfo_v3_t, 3);
        if (!is_v3 && info->version != NVML_VERSION_OF(nvmlGpuFabricInfoV_t, 2))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        memset(info->clusterUuid, 0, sizeof info->clusterUuid);
        info->status = NVML_SUCCESS;
        info->cliqueId = 0;
        info->state = has_fabric(&t) ? FABRIC_COMPLETED : FABRIC_NOT_SUPPORTED;
        info->healthMask = has_fabric(&t) ? FABRIC_BANDWIDTH_FULL : 0;
        if (is_v3)
                ((nvmlGpuFabricInfo_v3_t *)info)->healthSummary = has_fabric(&t);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPerformanceModes(nvmlDevice_t device, nvmlDevicePerfModes_t *modes)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, modes, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (modes->version != NVML_VERSION_OF(nvmlDevicePerfModes_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        snprintf(modes->str, sizeof modes->str,
                 "perf=0, nvclock=%u, nvclockmin=%u, nvclockmax=%u, memclock=%u",
                 t.gpu->sm_clock_mhz, board_of(t.gpu)->idle_sm_mhz, t.gpu->sm_clock_mhz,
                 t.gpu->memory_clock_mhz);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetCurrentClockFreqs(nvmlDevice_t device,
                                                nvmlDeviceCurrentClockFreqs_t *frequencies)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, frequencies, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (frequencies->version != NVML_VERSION_OF(nvmlDeviceCurrentClockFreqs_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        load_of_gpu(&t, &load);
        snprintf(frequencies->str, sizeof frequencies->str, "nvclock=%u, memclock=%u", load.sm_mhz,
                 load.memory_mhz);
        return NVML_SUCCESS;
}
