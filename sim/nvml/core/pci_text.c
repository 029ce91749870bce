/* SPDX-License-Identifier: Apache-2.0 */
/* pci_text: writes and reads addresses on the bus. */
#include "pci_text.h"

#include <stdio.h>

void pci_text_short(const struct machine_gpu *gpu, char text[16])
{
        snprintf(text, 16, "%04X:%02X:%02X.0", gpu->pci_domain & 0xffff, gpu->pci_bus & 0xff,
                 gpu->pci_device & 0x1f);
}

void pci_text_long(const struct machine_gpu *gpu, char text[32])
{
        snprintf(text, 32, "%08X:%02X:%02X.0", gpu->pci_domain, gpu->pci_bus, gpu->pci_device);
}

void pci_info(const struct machine_gpu *gpu, nvmlPciInfo_t *ret_pci)
{
        *ret_pci = (nvmlPciInfo_t){
                .domain = gpu->pci_domain,
                .bus = gpu->pci_bus,
                .device = gpu->pci_device,
                .pciDeviceId = gpu->pci_device_id,
                .pciSubSystemId = gpu->pci_subsystem_id,
        };
        pci_text_short(gpu, ret_pci->busIdLegacy);
        pci_text_long(gpu, ret_pci->busId);
}

bool pci_text_parse(const char *text, unsigned *ret_domain, unsigned *ret_bus, unsigned *ret_device)
{
        unsigned function = 0;
        int end = 0;

        if (sscanf(text, "%x:%x:%x.%x%n", ret_domain, ret_bus, ret_device, &function, &end) == 4 &&
            !text[end])
                return function == 0;
        if (sscanf(text, "%x:%x:%x%n", ret_domain, ret_bus, ret_device, &end) == 3 && !text[end])
                return true;
        *ret_domain = 0;
        if (sscanf(text, "%x:%x.%x%n", ret_bus, ret_device, &function, &end) == 3 && !text[end])
                return function == 0;
        return sscanf(text, "%x:%x%n", ret_bus, ret_device, &end) == 2 && !text[end];
}
