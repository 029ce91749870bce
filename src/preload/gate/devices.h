/* SPDX-License-Identifier: Apache-2.0 */
/* devices: CUDA's numbers for devices (ordinals), and their indexes in the share, to which they are charged. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload_cuda.h"
#include "preload_nvml.h"

enum { DEVICES_NONE = -1, DEVICES_UUID = 48 };

/* After cuInit: asks the driver for its devices, and NVML, if it is initialised, for their handles. */
void devices_map(bool has_nvml);

/* The UUID of a CUDA device as NVML writes it behind "GPU" or "MIG". */
bool devices_uuid(int ordinal, const char *prefix, char ret_uuid[DEVICES_UUID]);

int devices_count(void);
/* The device index of a CUDA device; DEVICES_NONE: the share does not name it. */
int devices_index(int ordinal);
/* The current context (0: none), its device's CUDA number and device index. */
struct target {
        uint64_t context;
        int ordinal;
        int device_index;
};
struct target devices_current(void);
/* The same of a stream's context, which need not be the current one. */
struct target devices_of_stream(CUstream stream);
/* A context has ended: its handle may come back for another device. */
void devices_context_ended(void);

/* Where the size of the GPU, once the driver has told it, is kept; 0: not yet. NULL: no device. */
_Atomic uint64_t *devices_total(int ordinal);

/* NVML's handle of a CUDA device; NULL: there is no NVML. Ours to keep: NVML stays initialised. */
nvmlDevice_t devices_nvml(int ordinal);
