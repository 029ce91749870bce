/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of vgpu-burn, and what they must compute. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
        KERNEL_BLOCK = 256, /* threads */
        KERNEL_FMA_PER_ROUND = 32,
        KERNEL_CHAINS = 8, /* independent, so that the pipelines stay full */
};

/* PTX of these kernels, in single precision, and in double precision with "_d" behind the name:
 *   vgpu_burn(out, a, b, rounds)         the load: out[i] = kernel_expected(a[i], b[i], rounds)
 *   vgpu_burn_sample(out, a, b, rounds)  the same under a name of its own: always checked in full
 *   vgpu_burn_compare(x, y, errors)      adds the number of i with x[i] ≠ y[i] to *errors */
extern const char kernel_ptx[];

/* The inputs of thread i: small enough for the chains to converge. */
double kernel_input_a(size_t index);
double kernel_input_b(size_t index);

/* What a GPU must compute, to the bit: fused multiply-add rounds once. */
float kernel_expected(float a, float b, unsigned rounds);
double kernel_expected_d(double a, double b, unsigned rounds);
