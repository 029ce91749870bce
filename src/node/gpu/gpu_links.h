/* SPDX-License-Identifier: Apache-2.0 */
/* How fast two GPUs of a node reach each other. */
#pragma once

#include "gpu.h"

/* One number per pair, more is faster: NVLink 100 and one for each link between the two; PCIe without it: one
 * board 40, one switch 30, several switches 20, one host bridge 10; farther apart, or not at all: 0. */
enum {
        GPU_LINK_NVLINK = 100,
        GPU_LINK_BOARD = 40,
        GPU_LINK_SWITCH = 30,
        GPU_LINK_SWITCHES = 20,
        GPU_LINK_BRIDGE = 10
};

/* Fills set->links, as far as the driver says. */
void gpu_links_read(const struct nvml *nvml, struct gpu_set *set);
