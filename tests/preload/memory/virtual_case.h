/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_case: shares with virtual memory. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define GOOD(call) CHECK_EQ(call, CUDA_SUCCESS)
#define FULL(call) CHECK_EQ(call, CUDA_ERROR_OUT_OF_MEMORY)

/* A share of one GPU: this much in all, and the ratio of it to the physical part. */
static inline void begin(const char *limit, const char *ratio)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_RATIO", ratio, 1);
        guest_start(limit);
}

static inline void begin_oversold(const char *limit)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_OVERSOLD", "true", 1);
        guest_start(limit);
}

/* A sixteenth of the physical part, in whole granules, is left to those who cannot do without the GPU. */
#define DEVICE (92 * MIB)

/* Fills the physical part of a share of 200 MiB and ratio 2 as far as that goes. */
static inline CUdeviceptr begin_full(void)
{
        CUdeviceptr gpu;

        begin("200m", "2");
        GOOD(cuMemAlloc_v2(&gpu, DEVICE));
        CHECK_EQ(guest_device_bytes(0), DEVICE);
        return gpu;
}
