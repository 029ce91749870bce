/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of vgpu-burn, and what they must compute. */
#include "burn_kernel.h"

#include <math.h>

/* clang-format off */
/* Eight chains x := x·a + b per thread. They start apart, so that no compiler may merge them. */
#define PTX_ENTRY(name)                                                                             \
        ".visible .entry " name "(.param .u64 out, .param .u64 a, .param .u64 b,\n"                 \
        "    .param .u32 rounds)\n"                                                                 \
        "{\n"                                                                                       \
        ".reg .pred %p1;\n.reg .b32 %r<6>;\n.reg .b64 %rd<8>;\n"                                    \
        "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [a];\nld.param.u64 %rd3, [b];\n"             \
        "ld.param.u32 %r5, [rounds];\n"                                                             \
        "cvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\n"                          \
        "cvta.to.global.u64 %rd3, %rd3;\n"                                                          \
        "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"                     \
        "mad.lo.u32 %r4, %r1, %r2, %r3;\n"

#define PTX_FMA(type)                                                                               \
        "fma.rn." type " %x0, %x0, %a, %b;\nfma.rn." type " %x1, %x1, %a, %b;\n"                    \
        "fma.rn." type " %x2, %x2, %a, %b;\nfma.rn." type " %x3, %x3, %a, %b;\n"                    \
        "fma.rn." type " %x4, %x4, %a, %b;\nfma.rn." type " %x5, %x5, %a, %b;\n"                    \
        "fma.rn." type " %x6, %x6, %a, %b;\nfma.rn." type " %x7, %x7, %a, %b;\n"

#define PTX_LOAD(name, type, bytes)                                                                 \
        PTX_ENTRY(name)                                                                             \
        ".reg ." type " %a, %b, %x<8>;\n"                                                           \
        "mul.wide.u32 %rd4, %r4, " bytes ";\n"                                                      \
        "add.u64 %rd5, %rd1, %rd4;\nadd.u64 %rd6, %rd2, %rd4;\nadd.u64 %rd7, %rd3, %rd4;\n"         \
        "ld.global." type " %a, [%rd6];\nld.global." type " %b, [%rd7];\n"                          \
        "mov." type " %x0, %b;\nadd.rn." type " %x1, %x0, %a;\nadd.rn." type " %x2, %x1, %a;\n"     \
        "add.rn." type " %x3, %x2, %a;\nadd.rn." type " %x4, %x3, %a;\n"                            \
        "add.rn." type " %x5, %x4, %a;\nadd.rn." type " %x6, %x5, %a;\n"                            \
        "add.rn." type " %x7, %x6, %a;\n"                                                           \
        "again:\n" PTX_FMA(type) PTX_FMA(type) PTX_FMA(type) PTX_FMA(type)                          \
        "sub.u32 %r5, %r5, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra again;\n"                         \
        "add.rn." type " %x0, %x0, %x1;\nadd.rn." type " %x0, %x0, %x2;\n"                          \
        "add.rn." type " %x0, %x0, %x3;\nadd.rn." type " %x0, %x0, %x4;\n"                          \
        "add.rn." type " %x0, %x0, %x5;\nadd.rn." type " %x0, %x0, %x6;\n"                          \
        "add.rn." type " %x0, %x0, %x7;\n"                                                          \
        "st.global." type " [%rd5], %x0;\nret;\n}\n"

/* Bits are compared, not numbers: a NaN must not hide. */
#define PTX_COMPARE(name, type, bytes)                                                              \
        ".visible .entry " name "(.param .u64 x, .param .u64 y, .param .u64 errors)\n{\n"           \
        ".reg .pred %p1;\n.reg .b32 %r<5>;\n.reg .b64 %rd<7>;\n.reg ." type " %x, %y;\n"            \
        "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u64 %rd3, [errors];\n"          \
        "cvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\n"                          \
        "cvta.to.global.u64 %rd3, %rd3;\n"                                                          \
        "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"                     \
        "mad.lo.u32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd4, %r4, " bytes ";\n"                      \
        "add.u64 %rd5, %rd1, %rd4;\nadd.u64 %rd6, %rd2, %rd4;\n"                                    \
        "ld.global." type " %x, [%rd5];\nld.global." type " %y, [%rd6];\n"                          \
        "setp.eq." type " %p1, %x, %y;\n@%p1 bra same;\n"                                           \
        "red.global.add.u32 [%rd3], 1;\nsame:\nret;\n}\n"

const char kernel_ptx[] =
        ".version 6.0\n.target sm_50\n.address_size 64\n"
        PTX_LOAD("vgpu_burn", "f32", "4")
        PTX_LOAD("vgpu_burn_sample", "f32", "4")
        PTX_COMPARE("vgpu_burn_compare", "b32", "4")
        PTX_LOAD("vgpu_burn_d", "f64", "8")
        PTX_LOAD("vgpu_burn_sample_d", "f64", "8")
        PTX_COMPARE("vgpu_burn_compare_d", "b64", "8");

/* clang-format on */

double kernel_input_a(size_t index)
{
        return 0.25 + (double)(index % 1021) / 4096;
}

double kernel_input_b(size_t index)
{
        return 1 + (double)(index % 4093) / 8192;
}

float kernel_expected(float a, float b, unsigned rounds)
{
        float x[KERNEL_CHAINS] = { b }, sum;

        for (unsigned k = 1; k < KERNEL_CHAINS; k++)
                x[k] = x[k - 1] + a;
        for (unsigned i = 0; i < rounds * (KERNEL_FMA_PER_ROUND / KERNEL_CHAINS); i++)
                for (unsigned k = 0; k < KERNEL_CHAINS; k++)
                        x[k] = fmaf(x[k], a, b);
        sum = x[0];
        for (unsigned k = 1; k < KERNEL_CHAINS; k++)
                sum = sum + x[k];
        return sum;
}

double kernel_expected_d(double a, double b, unsigned rounds)
{
        double x[KERNEL_CHAINS] = { b }, sum;

        for (unsigned k = 1; k < KERNEL_CHAINS; k++)
                x[k] = x[k - 1] + a;
        for (unsigned i = 0; i < rounds * (KERNEL_FMA_PER_ROUND / KERNEL_CHAINS); i++)
                for (unsigned k = 0; k < KERNEL_CHAINS; k++)
                        x[k] = fma(x[k], a, b);
        sum = x[0];
        for (unsigned k = 1; k < KERNEL_CHAINS; k++)
                sum = sum + x[k];
        return sum;
}
