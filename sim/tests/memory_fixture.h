/* SPDX-License-Identifier: Apache-2.0 */
/* memory_fixture: a small GPU and a current context, for the tests of memory. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cuda_prototypes.h"
#include "sim.h"

#define MIB        (UINT64_C(1) << 20)
#define GOOD(call) CHECK_EQ(call, CUDA_SUCCESS)

/* A machine of `gpus` GPUs with so much memory, contexts that take none, and time that flies. */
static inline void machine_small(unsigned gpus, uint64_t memory_bytes, uint64_t content_bytes)
{
        struct machine_spec spec;

        machine_spec_init(&spec);
        spec.preset = "a100-40gb";
        spec.gpu_count = gpus;
        spec.gpu_memory_bytes = memory_bytes;
        spec.context_bytes = 0;
        spec.time_scale = 1000;
        if (content_bytes)
                spec.content_budget_bytes = content_bytes;
        sim_machine_from(&spec);
}

static inline CUcontext context_on(int device)
{
        CUcontext context;

        GOOD(cuDevicePrimaryCtxRetain(&context, device));
        GOOD(cuCtxSetCurrent(context));
        return context;
}

/* One GPU of 1 GiB and its context. */
static inline void one_gpu(void)
{
        machine_small(1, 1024 * MIB, 0);
        GOOD(cuInit(0));
        context_on(0);
}

static inline size_t free_bytes(void)
{
        size_t free_now = 0, total = 0;

        GOOD(cuMemGetInfo_v2(&free_now, &total));
        return free_now;
}

/* Bytes that look like nothing else. */
static inline void scramble(void *bytes, size_t count, uint32_t seed)
{
        unsigned char *at = bytes;

        for (size_t i = 0; i < count; i++) {
                seed = seed * 1664525 + 1013904223;
                at[i] = (unsigned char)(seed >> 24);
        }
}
