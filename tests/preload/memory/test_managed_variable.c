/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of code that are managed memory may come onto the GPU like other managed memory: they count, from
 * when they are known until their code is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define CODE                                                                    \
        ".version 7.0\n.target sm_60\n.address_size 64\n"                       \
        ".visible .global .attribute(.managed) .align 4 .b8 table[67108864];\n" \
        ".visible .entry k() { ret; }\n"
static const char code[] = CODE;

static void begin(void)
{
        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        setenv("VGPU_MEMORY_LIMIT_1", "0", 1);
        guest_neighbour();
        guest_start(NULL);
}

/* A file is the driver's to read: what is in it is not known before. */
static void code_write(char path[static 32])
{
        strcpy(path, "/tmp/vgpu-code-XXXXXX");
        const int fd = mkstemp(path);

        CHECK_EQ(write(fd, code, sizeof code - 1), sizeof code - 1);
        close(fd);
}

SIM_TEST(of_a_module)
{
        CUmodule module, second;
        CUdeviceptr address;
        size_t bytes;

        begin();
        CHECK_EQ(cuModuleLoadData(&module, code), CUDA_SUCCESS);
        CHECK(guest_held() >= 64 * MIB);
        CHECK_EQ(guest_neighbour_gets(60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuModuleGetGlobal_v2(&address, &bytes, module, "table"), CUDA_SUCCESS);
        CHECK_EQ(cuMemPrefetchAsync(address, bytes, 0, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK(guest_held() < 70 * MIB); /* once, whoever asks */
        CHECK(guest_device_bytes(0) >= 64 * MIB && guest_device_bytes(0) <= 100 * MIB);
        CHECK_EQ(cuModuleLoadData(&second, code), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuModuleLoadDataEx(&second, code, 0, NULL, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuModuleLoadFatBinary(&second, code), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuModuleUnload(module), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

SIM_TEST(of_a_module_in_a_file_when_it_is_asked_for)
{
        char path[32];
        CUmodule module, second;
        CUdeviceptr address;
        size_t bytes;

        begin();
        code_write(path);
        CHECK_EQ(cuModuleLoad(&module, path), CUDA_SUCCESS);
        CHECK_EQ(cuModuleGetGlobal_v2(&address, NULL, module, "table"), CUDA_SUCCESS);
        CHECK(guest_held() >= 64 * MIB);
        CHECK_EQ(guest_neighbour_gets(60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuModuleLoad(&second, path), CUDA_SUCCESS);
        CHECK_EQ(cuModuleGetGlobal_v2(&address, &bytes, second, "table"), CUDA_ERROR_OUT_OF_MEMORY);
        unlink(path);
        CHECK_EQ(cuModuleUnload(second), CUDA_SUCCESS);
        CHECK(guest_held() >= 64 * MIB);
        CHECK_EQ(cuModuleUnload(module), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
}

SIM_TEST(of_a_library)
{
        CUlibrary library, second;

        begin();
        CHECK_EQ(cuLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0), CUDA_SUCCESS);
        CHECK(guest_held() >= 64 * MIB);
        CHECK_EQ(cuLibraryLoadData(&second, code, NULL, NULL, 0, NULL, NULL, 0),
                 CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(guest_held() < 70 * MIB);
        CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
}

SIM_TEST(of_a_library_in_a_file_when_it_is_asked_for)
{
        char path[32];
        CUlibrary library;
        CUdeviceptr address;
        size_t bytes;

        begin();
        code_write(path);
        CHECK_EQ(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0), CUDA_SUCCESS);
        unlink(path);
        CHECK(guest_held() < 64 * MIB);
        CHECK_EQ(cuLibraryGetManaged(&address, &bytes, library, "table"), CUDA_SUCCESS);
        CHECK(guest_held() >= 64 * MIB);
        CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
}

/* Its handle and its addresses may come back for something else. */
SIM_TEST(of_a_module_whose_context_ends)
{
        CUcontext context;
        CUmodule module;
        CUdeviceptr address;

        begin();
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuModuleLoadData(&module, code), CUDA_SUCCESS);
        CHECK(guest_held() >= 64 * MIB);
        CHECK_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        guest_check_charges(100 * MIB);
}

/* Two GPUs with limits: it stays with the one that is charged for it. */
SIM_TEST(of_a_module_beside_another_gpu_with_a_limit)
{
        CUmodule module;
        CUcontext other;
        CUdeviceptr address;
        size_t bytes;

        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT_1", "40m", 1);
        guest_start("100m");
        CHECK_EQ(cuModuleLoadData(&module, code), CUDA_SUCCESS);
        CHECK_EQ(cuModuleGetGlobal_v2(&address, &bytes, module, "table"), CUDA_SUCCESS);
        CHECK(guest_held() >= 64 * MIB);
        CHECK_EQ(cuCtxCreate_v2(&other, 0, 1), CUDA_SUCCESS);
        cuMemPrefetchAsync(address, bytes, 1, NULL);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK(guest_device_bytes(1) <= 40 * MIB);
        CHECK_EQ(cuCtxDestroy_v2(other), CUDA_SUCCESS);
        CHECK_EQ(cuModuleUnload(module), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
}

int main(void)
{
        return RUN(CASE(of_a_module), CASE(of_a_module_in_a_file_when_it_is_asked_for),
                   CASE(of_a_library), CASE(of_a_library_in_a_file_when_it_is_asked_for),
                   CASE(of_a_module_whose_context_ends),
                   CASE(of_a_module_beside_another_gpu_with_a_limit));
}
