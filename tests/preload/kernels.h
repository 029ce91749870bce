/* SPDX-License-Identifier: Apache-2.0 */
/* kernels: data that kernels write, pass on and add up, so that what became of it can be told. */
#pragma once

#include "guest.h"

/* One word in sixteen bytes: fill writes seed + i; pass writes 5 × what it reads + 1; sum adds all. */
struct kernels {
        CUfunction fill, pass, sum;
};
extern struct kernels kernels;

void kernels_load(void);
void kernels_run(CUfunction kernel, CUdeviceptr a, uint64_t b, size_t bytes, CUstream stream);
unsigned kernels_sum(CUdeviceptr buffer, CUdeviceptr out, size_t bytes);
/* What `sum` finds in a buffer filled with `seed` and passed on so often. */
unsigned kernels_sum_expected(unsigned seed, unsigned passes, size_t bytes);
