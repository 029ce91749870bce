/* SPDX-License-Identifier: Apache-2.0 */
/* vectoradd: adds two vectors on GPU 0, as the CUDA sample of that name does, and says what it says. */
#include "cuda_types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr pointer);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **parameters, void **extra);

enum { ELEMENTS = 50000, THREADS = 256 };

static const char ptx[] =
        ".version 6.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c,\n"
        "    .param .u32 count)\n{\n"
        ".reg .pred %p1;\n.reg .b32 %r<6>;\n.reg .b64 %rd<5>;\n.reg .f32 %f<4>;\n"
        "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n"
        "ld.param.u32 %r5, [count];\n"
        "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
        "mad.lo.u32 %r4, %r1, %r2, %r3;\n"
        "setp.ge.u32 %p1, %r4, %r5;\n@%p1 bra done;\n"
        "mul.wide.u32 %rd4, %r4, 4;\n"
        "add.u64 %rd1, %rd1, %rd4;\nadd.u64 %rd2, %rd2, %rd4;\nadd.u64 %rd3, %rd3, %rd4;\n"
        "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2];\n"
        "add.f32 %f3, %f1, %f2;\nst.global.f32 [%rd3], %f3;\n"
        "done:\nret;\n}\n";

static void check(CUresult result, const char *what)
{
        if (result == CUDA_SUCCESS)
                return;
        fprintf(stderr, "Failed to %s (error code %d)!\n", what, (int)result);
        exit(EXIT_FAILURE);
}

static CUfunction kernel_load(void)
{
        CUdevice device;
        CUcontext context;
        CUmodule module;
        CUfunction function;

        check(cuInit(0), "initialise the driver");
        check(cuDeviceGet(&device, 0), "get device 0");
        check(cuDevicePrimaryCtxRetain(&context, device), "create a context");
        check(cuCtxSetCurrent(context), "set the context");
        check(cuModuleLoadData(&module, ptx), "load the kernel");
        check(cuModuleGetFunction(&function, module, "vector_add"), "find the kernel");
        return function;
}

int main(void)
{
        static float host[3][ELEMENTS];
        CUfunction kernel = kernel_load();
        CUdeviceptr device[3];
        unsigned count = ELEMENTS, blocks = (ELEMENTS + THREADS - 1) / THREADS;
        void *parameters[] = { &device[0], &device[1], &device[2], &count };

        printf("[Vector addition of %u elements]\n", count);
        for (unsigned i = 0; i < ELEMENTS; i++) {
                host[0][i] = (float)i / ELEMENTS;
                host[1][i] = (float)(i % 97);
        }
        for (int i = 0; i < 3; i++)
                check(cuMemAlloc_v2(&device[i], sizeof host[i]), "allocate device vector");
        for (int i = 0; i < 2; i++)
                check(cuMemcpyHtoD_v2(device[i], host[i], sizeof host[i]), "copy vector to device");
        check(cuLaunchKernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL),
              "launch the kernel");
        check(cuMemcpyDtoH_v2(host[2], device[2], sizeof host[2]), "copy vector to host");
        for (int i = 0; i < 3; i++)
                check(cuMemFree_v2(device[i]), "free device vector");
        for (unsigned i = 0; i < ELEMENTS; i++) {
                if (fabsf(host[0][i] + host[1][i] - host[2][i]) > 1e-5f) {
                        fprintf(stderr, "Result verification failed at element %u!\n", i);
                        return EXIT_FAILURE;
                }
        }
        printf("Test PASSED\nDone\n");
        return EXIT_SUCCESS;
}
