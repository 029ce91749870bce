/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs the simulator can be. */
#pragma once

#include <stddef.h>

#include "machine_layout.h"

struct preset {
        const char *name; /* "a100-40gb" */
        const char *summary;
        struct machine_gpu gpu;  /* everything but uuid, serial, pci address, numa, links */
        unsigned links_per_peer; /* NVLinks between two GPUs of one machine; 0: none */
        unsigned has_switch;     /* NVSwitch: all links go to it */
};

size_t preset_count(void);
const struct preset *preset_at(size_t index);
/* NULL: no such preset. */
const struct preset *preset_find(const char *name);
