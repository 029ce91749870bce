/* SPDX-License-Identifier: Apache-2.0 */
/* pcie: the address on the bus and the link to the host. */
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "pci_text.h"
#include "target.h"

/* 3D controller without display output; a GeForce has one. */
enum { CLASS_DISPLAY = 0x03, SUBCLASS_VGA = 0x00, SUBCLASS_3D = 0x02 };

nvmlReturn_t sim_nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
        struct target t;
        nvmlReturn_t r = target_any(device, pci, &t);

        if (r != NVML_SUCCESS)
                return r;
        nvmlPciInfo_v1_t v1 = {
                .domain = t.gpu->pci_domain,
                .bus = t.gpu->pci_bus,
                .device = t.gpu->pci_device,
                .pciDeviceId = t.gpu->pci_device_id,
        };
        pci_text_short(t.gpu, v1.busId);
        memcpy(pci, &v1, sizeof v1);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
        struct target t;
        nvmlReturn_t r = target_any(device, pci, &t);

        if (r != NVML_SUCCESS)
                return r;
        nvmlPciInfo_v2_t v2 = {
                .domain = t.gpu->pci_domain,
                .bus = t.gpu->pci_bus,
                .device = t.gpu->pci_device,
                .pciDeviceId = t.gpu->pci_device_id,
                .pciSubSystemId = t.gpu->pci_subsystem_id,
        };
        pci_text_short(t.gpu, v2.busId);
        memcpy(pci, &v2, sizeof v2);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
        struct target t;
        nvmlReturn_t r = target_any(device, pci, &t);

        if (r == NVML_SUCCESS)
                pci_info(t.gpu, pci);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
        struct target t;
        nvmlReturn_t r = target_any(device, pci, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (pci->version != NVML_VERSION_OF(nvmlPciInfoExt_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        *pci = (nvmlPciInfoExt_t){
                .version = pci->version,
                .domain = t.gpu->pci_domain,
                .bus = t.gpu->pci_bus,
                .device = t.gpu->pci_device,
                .pciDeviceId = t.gpu->pci_device_id,
                .pciSubSystemId = t.gpu->pci_subsystem_id,
                .baseClass = CLASS_DISPLAY,
                .subClass = t.gpu->brand == NVML_BRAND_GEFORCE ? SUBCLASS_VGA : SUBCLASS_3D,
        };
        pci_text_long(t.gpu, pci->busId);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
        const struct machine *machine = session_machine();
        unsigned domain, bus, slot;

        if (!id || !device || !pci_text_parse(id, &domain, &bus, &slot))
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < machine->file->header.gpu_count; i++) {
                const struct machine_gpu *gpu = machine_gpu(machine, i);
                if (gpu->pci_domain == domain && gpu->pci_bus == bus && gpu->pci_device == slot)
                        return sim_nvmlDeviceGetHandleByIndex_v2(i, device);
        }
        return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t sim_nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *device)
{
        return sim_nvmlDeviceGetHandleByPciBusId_v2(id, device);
}

nvmlReturn_t sim_nvmlDeviceGetBusType(nvmlDevice_t device, nvmlBusType_t *type)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, type, &t);

        if (r == NVML_SUCCESS)
                *type = NVML_BUS_TYPE_PCIE;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, generation, &t);

        if (r == NVML_SUCCESS)
                *generation = t.gpu->pcie_generation;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device,
                                                       unsigned int *generation)
{
        return sim_nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}

/* A GPU that sleeps also slows its link down. */
nvmlReturn_t sim_nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, generation, &t);

        if (r != NVML_SUCCESS)
                return r;
        load_of_gpu(&t, &load);
        *generation = load.pstate >= NVML_PSTATE_8 ? 1 : t.gpu->pcie_generation;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *width)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, width, &t);

        if (r == NVML_SUCCESS)
                *width = t.gpu->pcie_width;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int *width)
{
        return sim_nvmlDeviceGetMaxPcieLinkWidth(device, width);
}

nvmlReturn_t sim_nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int *bits)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, bits, &t);

        if (r == NVML_SUCCESS)
                *bits = t.gpu->memory_bus_bits;
        return r;
}

static unsigned lane_mtps(unsigned generation)
{
        static const unsigned rates[] = { 0, 2500, 5000, 8000, 16000, 32000, 64000 };

        return rates[generation < sizeof rates / sizeof rates[0] ? generation : 0];
}

nvmlReturn_t sim_nvmlDeviceGetPcieSpeed(nvmlDevice_t device, unsigned int *speed)
{
        unsigned generation = 0;
        nvmlReturn_t r;

        if (!speed)
                return NVML_ERROR_INVALID_ARGUMENT;
        r = sim_nvmlDeviceGetCurrPcieLinkGeneration(device, &generation);
        if (r == NVML_SUCCESS)
                *speed = lane_mtps(generation);
        return r;
}

/* The code of the speed is the generation. */
nvmlReturn_t sim_nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t device, unsigned int *speed)
{
        return sim_nvmlDeviceGetMaxPcieLinkGeneration(device, speed);
}

nvmlReturn_t sim_nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned int *count)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, count, &t);

        if (r == NVML_SUCCESS)
                *count = 0;
        return r;
}

/* Kilobytes per second; the GPU receives what goes in. */
nvmlReturn_t sim_nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
                                             unsigned int *kbps)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, kbps, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)counter >= NVML_PCIE_UTIL_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (t.gpu->mig_mode)
                return NVML_ERROR_NOT_SUPPORTED;
        load_of_gpu(&t, &load);
        double bytes_per_s = counter == NVML_PCIE_UTIL_RX_BYTES
                                     ? load.in * (double)t.gpu->in_bytes_per_s
                                     : load.out * (double)t.gpu->out_bytes_per_s;
        *kbps = (unsigned)(bytes_per_s / 1000);
        return NVML_SUCCESS;
}
