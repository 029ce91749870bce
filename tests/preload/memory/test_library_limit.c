/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and the contexts that run them: taken at once, so that no launch goes past the limit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define CODE(bytes)                                          \
        ".version 7.0\n.target sm_50\n.address_size 64\n"    \
        ".visible .global .align 4 .b8 table[" #bytes "];\n" \
        ".visible .entry k() { ret; }\n"
static const char small[] = CODE(4194304), large[] = CODE(67108864);

static CUresult load(CUlibrary *library, const char *code)
{
        return cuLibraryLoadData(library, code, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult load_file(CUlibrary *library, const char *code)
{
        char path[] = "/tmp/vgpu-code-XXXXXX";
        int fd = mkstemp(path);

        assert_int_equal(write(fd, code, strlen(code)), strlen(code));
        close(fd);
        CUresult r = cuLibraryLoadFromFile(library, path, NULL, NULL, 0, NULL, NULL, 0);
        unlink(path);
        return r;
}

static void launch(CUlibrary library)
{
        CUkernel kernel;

        CHECK_EQ(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
        CHECK_EQ(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void check_library(CUresult (*by)(CUlibrary *library, const char *code))
{
        CUlibrary library, second;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "32m", 1);
        guest_neighbour();
        guest_start(NULL);
        CHECK_EQ(by(&library, small), CUDA_SUCCESS);
        uint64_t loaded = guest_held();
        CHECK(loaded >= 4 * MIB);
        guest_check_charges(32 * MIB);
        launch(library);
        CHECK_EQ(guest_held(), loaded);
        guest_check_charges(32 * MIB);
        CHECK_EQ(by(&second, large), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_held(), loaded);
        guest_check_charges(32 * MIB);
        CHECK_EQ(guest_neighbour_gets(32 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(32 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
}

SIM_TEST(a_library)
{
        check_library(load);
}

SIM_TEST(a_library_in_a_file)
{
        check_library(load_file);
}

/* The code is in the second context before anything is launched there, and goes with it. */
SIM_TEST(a_library_counts_in_every_context)
{
        CUcontext first, second;
        CUlibrary library;

        guest_machine(1);
        guest_start("32m");
        CHECK_EQ(load(&library, small), CUDA_SUCCESS);
        uint64_t one = guest_held();
        CHECK_EQ(cuCtxGetCurrent(&first), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 2 * one);
        guest_check_charges(32 * MIB);
        launch(library);
        guest_check_charges(32 * MIB);
        CHECK_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), one);
        guest_check_charges(32 * MIB);
        CHECK_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
        guest_check_charges(32 * MIB);
}

SIM_TEST(a_library_loaded_before_there_is_a_context)
{
        CUcontext context;
        CUlibrary library;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "32m", 1);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(load(&library, small), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
        CHECK(guest_held() >= 4 * MIB);
        launch(library);
        guest_check_charges(32 * MIB);
        CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
        CHECK_EQ(load(&library, large), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
        CHECK_EQ(load(&library, large), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 0);
}

/* From the second context on, one that does not fit is not even tried. */
SIM_TEST(the_size_of_a_context_is_remembered)
{
        CUcontext context;
        CUdeviceptr address;

        guest_machine_with(1, 70 * MIB);
        guest_start("200m");
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 170 * MIB);
        CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
        guest_check_charges(200 * MIB);
}

SIM_TEST(green_contexts)
{
        CUdevResourceDesc part;
        CUdevResource resource;
        CUdeviceptr address;
        CUgreenCtx green;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "32m", 1);
        guest_neighbour();
        guest_start(NULL);
        CHECK_EQ(cuDeviceGetDevResource(0, &resource, 1), CUDA_SUCCESS);
        CHECK_EQ(cuDevResourceGenerateDesc(&part, &resource, 1), CUDA_SUCCESS);
        CHECK_EQ(cuGreenCtxCreate(&green, part, 0, 1), CUDA_SUCCESS);
        CHECK(guest_held() > 0);
        guest_check_charges(32 * MIB);
        CHECK_EQ(guest_neighbour_gets(32 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuGreenCtxDestroy(green), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(32 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 32 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuGreenCtxCreate(&green, part, 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
        guest_check_charges(32 * MIB);
}

typedef CUresult create_fn(CUcontext *context);

static void check_context(create_fn *create, CUresult (*destroy)(CUcontext context))
{
        CUcontext first, second, third;

        guest_machine_with(1, 70 * MIB);
        setenv("VGPU_SIM_GRAPHICS", "1", 1);
        setenv("VGPU_MEMORY_LIMIT", "220m", 1);
        guest_neighbour();
        guest_start(NULL);
        CHECK_EQ(cuCtxGetCurrent(&first), CUDA_SUCCESS);
        CHECK_EQ(create(&second), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 140 * MIB);
        guest_check_charges(220 * MIB);
        CHECK_EQ(create(&third), CUDA_SUCCESS);
        CHECK_EQ(create(&third), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 210 * MIB);
        CHECK_EQ(destroy(second), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(10 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 210 * MIB);
}

static CUresult gl(CUcontext *context)
{
        return cuGLCtxCreate(context, 0, 0);
}
static CUresult gl_v2(CUcontext *context)
{
        return cuGLCtxCreate_v2(context, 0, 0);
}
static CUresult vdpau(CUcontext *context)
{
        return cuVDPAUCtxCreate(context, 0, 0, 0, NULL);
}
static CUresult vdpau_v2(CUcontext *context)
{
        return cuVDPAUCtxCreate_v2(context, 0, 0, 0, NULL);
}
static CUresult v1(CUcontext *context)
{
        return cuCtxCreate(context, 0, 0);
}
static CUresult v2(CUcontext *context)
{
        return cuCtxCreate_v2(context, 0, 0);
}
static CUresult v3(CUcontext *context)
{
        return cuCtxCreate_v3(context, NULL, 0, 0, 0);
}
static CUresult v4(CUcontext *context)
{
        return cuCtxCreate_v4(context, NULL, 0, 0);
}

SIM_TEST(a_context_for_opengl)
{
        check_context(gl, cuCtxDestroy_v2);
}
SIM_TEST(a_context_for_opengl_v2)
{
        check_context(gl_v2, cuCtxDestroy_v2);
}
SIM_TEST(a_context_for_vdpau)
{
        check_context(vdpau, cuCtxDestroy_v2);
}
SIM_TEST(a_context_for_vdpau_v2)
{
        check_context(vdpau_v2, cuCtxDestroy_v2);
}
SIM_TEST(a_context_v1)
{
        check_context(v1, cuCtxDestroy);
}
SIM_TEST(a_context_v2)
{
        check_context(v2, cuCtxDestroy_v2);
}
SIM_TEST(a_context_v3)
{
        check_context(v3, cuCtxDestroy_v2);
}
SIM_TEST(a_context_v4)
{
        check_context(v4, cuCtxDestroy_v2);
}

static void check_primary(CUresult (*end)(CUdevice device))
{
        CUcontext context;

        guest_machine_with(1, 70 * MIB);
        setenv("VGPU_MEMORY_LIMIT", "150m", 1);
        guest_neighbour();
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(20 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(end(0), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(80 * MIB), CUDA_SUCCESS);
}

SIM_TEST(a_primary_context_released_v1)
{
        check_primary(cuDevicePrimaryCtxRelease);
}
SIM_TEST(a_primary_context_released_v2)
{
        check_primary(cuDevicePrimaryCtxRelease_v2);
}
SIM_TEST(a_primary_context_reset_v1)
{
        check_primary(cuDevicePrimaryCtxReset);
}
SIM_TEST(a_primary_context_reset_v2)
{
        check_primary(cuDevicePrimaryCtxReset_v2);
}

int main(void)
{
        return RUN(CASE(a_library), CASE(a_library_in_a_file),
                   CASE(a_library_counts_in_every_context),
                   CASE(a_library_loaded_before_there_is_a_context),
                   CASE(the_size_of_a_context_is_remembered), CASE(green_contexts),
                   CASE(a_context_for_opengl), CASE(a_context_for_opengl_v2),
                   CASE(a_context_for_vdpau), CASE(a_context_for_vdpau_v2), CASE(a_context_v1),
                   CASE(a_context_v2), CASE(a_context_v3), CASE(a_context_v4),
                   CASE(a_primary_context_released_v1), CASE(a_primary_context_released_v2),
                   CASE(a_primary_context_reset_v1), CASE(a_primary_context_reset_v2));
}
