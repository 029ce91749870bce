/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says of its GPUs in the annotation nvidia.com/node-device-register. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "vec.h"

struct node_device {
        unsigned index;
        char uuid[96], type[96];
        uint64_t memory_mib; /* scaling included */
        uint32_t cores;      /* 100 times the scaling */
        uint16_t slots;      /* how many containers may share it */
        int16_t numa;        /* −1: not known */
        bool is_mig, is_healthy;
        uint32_t memory_factor; /* MiB that a unit of nvidia.com/vgpu-memory is */
};

/* Fills a vec of struct node_gpu. -EPROTO: the text is no registration; -ENOMEM. */
int node_devices_parse(const char *text, struct vec *ret_devices, struct err *e);
/* The node's settings, nvidia.com/node-config-info: the memory factor of its GPUs. NULL or no such text:
 * it stays 1. 0 or -ENOMEM. */
int node_devices_configure(struct vec *devices, const char *text);
