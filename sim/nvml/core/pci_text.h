/* SPDX-License-Identifier: Apache-2.0 */
/* pci_text: addresses on the bus as text. */
#pragma once

#include "machine.h"
#include "sim_nvml.h"

void pci_text_short(const struct machine_gpu *gpu, char text[16]); /* 0000:07:00.0 */
void pci_text_long(const struct machine_gpu *gpu, char text[32]);  /* 00000000:07:00.0 */
void pci_info(const struct machine_gpu *gpu, nvmlPciInfo_t *ret_pci);

/* "[domain:]bus:device[.function]" in hexadecimal; only function 0 is a GPU. */
bool pci_text_parse(const char *text, unsigned *ret_domain, unsigned *ret_bus,
                    unsigned *ret_device);
