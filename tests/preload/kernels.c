/* SPDX-License-Identifier: Apache-2.0 */
/* kernels: by the PTX interpreter. */
#include "kernels.h"

static const char source[] =
        ".version 7.0\n.target sm_60\n.address_size 64\n"
        ".visible .entry fill(.param .u64 at, .param .u32 seed)\n{\n"
        ".reg .b64 %a, %i; .reg .b32 %t, %b, %n, %s;\n"
        "ld.param.u64 %a, [at]; ld.param.u32 %s, [seed];\n"
        "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\n"
        "mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %i, %t, 16; add.u64 %a, %a, %i;\n"
        "add.u32 %s, %s, %t; st.global.u32 [%a], %s; ret;\n}\n"
        ".visible .entry pass(.param .u64 from, .param .u64 to)\n{\n"
        ".reg .b64 %a, %c, %i; .reg .b32 %t, %b, %n, %v;\n"
        "ld.param.u64 %a, [from]; ld.param.u64 %c, [to];\n"
        "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\n"
        "mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %i, %t, 16; add.u64 %a, %a, %i;\n"
        "add.u64 %c, %c, %i; ld.global.u32 %v, [%a]; mul.lo.u32 %v, %v, 5; add.u32 %v, %v, 1;\n"
        "st.global.u32 [%c], %v; ret;\n}\n"
        ".visible .entry sum(.param .u64 at, .param .u64 out)\n{\n"
        ".reg .b64 %a, %o, %i; .reg .b32 %t, %b, %n, %v, %old;\n"
        "ld.param.u64 %a, [at]; ld.param.u64 %o, [out];\n"
        "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\n"
        "mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %i, %t, 16; add.u64 %a, %a, %i;\n"
        "ld.global.u32 %v, [%a]; atom.global.add.u32 %old, [%o], %v; ret;\n}\n";

struct kernels kernels;

#define GOOD(call) CHECK_EQ(call, CUDA_SUCCESS)

void kernels_load(void)
{
        CUmodule module;

        GOOD(cuModuleLoadData(&module, source));
        GOOD(cuModuleGetFunction(&kernels.fill, module, "fill"));
        GOOD(cuModuleGetFunction(&kernels.pass, module, "pass"));
        GOOD(cuModuleGetFunction(&kernels.sum, module, "sum"));
}

void kernels_run(CUfunction kernel, CUdeviceptr a, uint64_t b, size_t bytes, CUstream stream)
{
        unsigned threads = (unsigned)(bytes / 16);
        void *params[] = { &a, &b };

        GOOD(cuLaunchKernel(kernel, threads / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
}

unsigned kernels_sum(CUdeviceptr buffer, CUdeviceptr out, size_t bytes)
{
        unsigned sum = 0;

        GOOD(cuMemsetD32_v2(out, 0, 1));
        kernels_run(kernels.sum, buffer, out, bytes, NULL);
        GOOD(cuMemcpyDtoH_v2(&sum, out, sizeof sum));
        return sum;
}

unsigned kernels_sum_expected(unsigned seed, unsigned passes, size_t bytes)
{
        unsigned sum = 0;

        for (unsigned i = 0; i < bytes / 16; i++) {
                unsigned value = seed + i;
                for (unsigned k = 0; k < passes; k++)
                        value = value * 5 + 1;
                sum += value;
        }
        return sum;
}
