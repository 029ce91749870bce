/* SPDX-License-Identifier: Apache-2.0 */
/* nvlink: state, abilities and far ends of the links. */
#include "nvlink.h"

#include <stdio.h>

#include "board.h"
#include "pci_text.h"

enum { PEER_SWITCH = -1, PEER_NONE = -2 };

bool nvlink_is_active(const struct machine_gpu *gpu, unsigned link)
{
        return link < gpu->link_count && link < MACHINE_LINKS && gpu->link_peer[link] != PEER_NONE;
}

unsigned nvlink_count_between(const struct machine_gpu *gpu, unsigned other)
{
        unsigned count = 0;

        for (unsigned i = 0; i < gpu->link_count && i < MACHINE_LINKS; i++)
                count += gpu->link_peer[i] == PEER_SWITCH || gpu->link_peer[i] == (int)other;
        return count;
}

static nvmlReturn_t target_with_link(nvmlDevice_t device, unsigned link, const void *answer,
                                     struct target *ret)
{
        nvmlReturn_t r = target_gpu(device, answer, ret);

        if (r != NVML_SUCCESS)
                return r;
        if (ret->gpu->link_count == 0)
                return NVML_ERROR_NOT_SUPPORTED;
        if (link >= MACHINE_LINKS)
                return NVML_ERROR_INVALID_ARGUMENT;
        return link < ret->gpu->link_count ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t target_with_active_link(nvmlDevice_t device, unsigned link, const void *answer,
                                            struct target *ret)
{
        nvmlReturn_t r = target_with_link(device, link, answer, ret);

        return r == NVML_SUCCESS && !nvlink_is_active(ret->gpu, link) ? NVML_ERROR_NOT_SUPPORTED
                                                                      : r;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                          nvmlEnableState_t *is_active)
{
        struct target t;
        nvmlReturn_t r = target_with_link(device, link, is_active, &t);

        if (r == NVML_SUCCESS)
                *is_active = (nvmlEnableState_t)nvlink_is_active(t.gpu, link);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link,
                                            unsigned int *version)
{
        struct target t;
        nvmlReturn_t r = target_with_link(device, link, version, &t);

        if (r == NVML_SUCCESS)
                *version = board_of(t.gpu)->nvlink_version;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link,
                                               nvmlNvLinkCapability_t capability,
                                               unsigned int *result)
{
        struct target t;
        nvmlReturn_t r = target_with_active_link(device, link, result, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)capability >= NVML_NVLINK_CAP_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        *result = capability != NVML_NVLINK_CAP_SLI_BRIDGE;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                     nvmlIntNvLinkDeviceType_t *type)
{
        struct target t;
        nvmlReturn_t r = target_with_active_link(device, link, type, &t);

        if (r == NVML_SUCCESS)
                *type = t.gpu->link_peer[link] == PEER_SWITCH ? NVML_NVLINK_DEVICE_TYPE_SWITCH
                                                              : NVML_NVLINK_DEVICE_TYPE_GPU;
        return r;
}

/* The switches sit on buses of their own: two links to each chip. */
static void switch_pci(const struct machine_gpu *gpu, unsigned link, nvmlPciInfo_t *ret_pci)
{
        bool is_hopper = gpu->architecture >= NVML_DEVICE_ARCH_HOPPER;
        struct machine_gpu chip = {
                .pci_bus = 0xc0 + link / (is_hopper ? 5 : 2),
                .pci_device_id = is_hopper ? 0x22a310de : 0x1af110de,
        };

        pci_info(&chip, ret_pci);
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                     nvmlPciInfo_t *pci)
{
        struct target t;
        nvmlReturn_t r = target_with_active_link(device, link, pci, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (t.gpu->link_peer[link] == PEER_SWITCH)
                switch_pci(t.gpu, link, pci);
        else
                pci_info(machine_gpu(t.machine, (unsigned)t.gpu->link_peer[link]), pci);
        return NVML_SUCCESS;
}

/* The first version fills the structure of nvmlDeviceGetPciInfo_v2, which is smaller. */
nvmlReturn_t sim_nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link,
                                                  nvmlPciInfo_t *pci)
{
        nvmlPciInfo_t full;
        nvmlPciInfo_v2_t *v2 = (nvmlPciInfo_v2_t *)pci;
        nvmlReturn_t r;

        if (!pci)
                return NVML_ERROR_INVALID_ARGUMENT;
        r = sim_nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &full);
        if (r != NVML_SUCCESS)
                return r;
        *v2 = (nvmlPciInfo_v2_t){
                .domain = full.domain,
                .bus = full.bus,
                .device = full.device,
                .pciDeviceId = full.pciDeviceId,
                .pciSubSystemId = full.pciSubSystemId,
        };
        snprintf(v2->busId, sizeof v2->busId, "%s", full.busIdLegacy);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link,
                                                 nvmlNvLinkErrorCounter_t counter,
                                                 unsigned long long *count)
{
        struct target t;
        nvmlReturn_t r = target_with_active_link(device, link, count, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)counter >= NVML_NVLINK_ERROR_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        *count = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceResetNvLinkErrorCounters(nvmlDevice_t device, unsigned int link)
{
        struct target t;

        return target_with_active_link(device, link, device, &t);
}

/* Counters that can be programmed ended with Volta; the field values replaced them. */
static nvmlReturn_t no_counter(nvmlDevice_t device, unsigned link)
{
        struct target t;
        nvmlReturn_t r = target_with_link(device, link, device, &t);

        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkUtilizationControl(nvmlDevice_t device, unsigned int link,
                                                       unsigned int counter,
                                                       nvmlNvLinkUtilizationControl_t *control)
{
        (void)counter, (void)control;
        return no_counter(device, link);
}

nvmlReturn_t sim_nvmlDeviceSetNvLinkUtilizationControl(nvmlDevice_t device, unsigned int link,
                                                       unsigned int counter,
                                                       nvmlNvLinkUtilizationControl_t *control,
                                                       unsigned int reset)
{
        (void)counter, (void)control, (void)reset;
        return no_counter(device, link);
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkUtilizationCounter(nvmlDevice_t device, unsigned int link,
                                                       unsigned int counter,
                                                       unsigned long long *received,
                                                       unsigned long long *sent)
{
        (void)counter, (void)received, (void)sent;
        return no_counter(device, link);
}

nvmlReturn_t sim_nvmlDeviceFreezeNvLinkUtilizationCounter(nvmlDevice_t device, unsigned int link,
                                                          unsigned int counter,
                                                          nvmlEnableState_t freeze)
{
        (void)counter, (void)freeze;
        return no_counter(device, link);
}

nvmlReturn_t sim_nvmlDeviceResetNvLinkUtilizationCounter(nvmlDevice_t device, unsigned int link,
                                                         unsigned int counter)
{
        (void)counter;
        return no_counter(device, link);
}

nvmlReturn_t sim_nvmlDeviceSetNvLinkDeviceLowPowerThreshold(nvmlDevice_t device,
                                                            nvmlNvLinkPowerThres_t *threshold)
{
        (void)threshold;
        return no_counter(device, 0);
}

nvmlReturn_t sim_nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t *info)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, info, &t);

        if (r == NVML_SUCCESS)
                info->isC2cEnabled = 0;
        return r;
}
