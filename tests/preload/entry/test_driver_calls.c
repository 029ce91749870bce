/* SPDX-License-Identifier: Apache-2.0 */
/* What the library asks of the driver on a program's behalf, by the driver's own log of calls. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "guest.h"
#include "scope.h"

static char log_path[] = "/tmp/vgpu-test-calls-XXXXXX";

static void logged_start(void)
{
        close(mkstemp(log_path));
        setenv("VGPU_SIM_LOG", log_path, 1);
        guest_machine(1);
        guest_start("100m");
}

static void log_forget(void)
{
        CHECK_EQ(truncate(log_path, 0), 0);
}

/* Is a call whose name has this in it in the log? */
static bool log_has(const char *part)
{
        autofree char *text = NULL;

        CHECK_EQ(file_read(log_path, &text), 0);
        return strstr(text, part) != NULL;
}

SIM_TEST(stream_ordered_memory_waits_for_no_stream)
{
        CUdeviceptr address;
        CUstream stream;

        logged_start();
        CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
        log_forget();
        for (unsigned i = 0; i < 20; i++) {
                CHECK_EQ(cuMemAllocAsync(&address, 30 * MIB, stream), CUDA_SUCCESS);
                CHECK_EQ(cuMemFreeAsync(address, stream), CUDA_SUCCESS);
        }
        CHECK_EQ(cuMemAllocAsync(&address, 200 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(log_has("cuMemAllocAsync"));
        CHECK(!log_has("Synchronize"));
        CHECK(!log_has("Wait"));
        unlink(log_path);
}

/* The GPU never shows a module that cannot fit: the driver is not asked. */
SIM_TEST(a_module_whose_variables_do_not_fit_is_not_loaded)
{
        static const char large[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                                    ".global .align 4 .b8 table[268435456];\n"
                                    ".visible .entry k() { ret; }\n";
        static const char small[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                                    ".global .align 4 .b8 table[67108864];\n"
                                    ".visible .entry k() { ret; }\n";
        CUlibrary library;
        CUmodule module, second;

        logged_start();
        log_forget();
        CHECK_EQ(cuModuleLoadData(&module, large), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuModuleLoadDataEx(&module, large, 0, NULL, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuModuleLoadFatBinary(&module, large), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(!log_has("cuModuleLoad"));
        CHECK_EQ(cuLibraryLoadData(&library, large, NULL, NULL, 0, NULL, NULL, 0),
                 CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(!log_has("cuLibraryGetModule"));
        CHECK_EQ(cuModuleLoadData(&module, small), CUDA_SUCCESS);
        log_forget();
        /* It might lie in what the driver has: that is for the driver to say. */
        CHECK_EQ(cuModuleLoadData(&second, small), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(log_has("cuModuleLoadData"));
        unlink(log_path);
}

SIM_TEST(what_is_free_is_known_without_the_driver)
{
        size_t free_bytes, total_bytes;
        CUdeviceptr address;

        logged_start();
        CHECK_EQ(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS); /* the GPU's size */
        CHECK_EQ(cuMemAlloc_v2(&address, 10 * MIB), CUDA_SUCCESS);
        log_forget();
        for (unsigned i = 0; i < 1000; i++)
                CHECK_EQ(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
        CHECK_EQ(free_bytes, 90 * MIB);
        CHECK(!log_has("Mem"));
        CHECK(!log_has("nvml"));
        unlink(log_path);
}

int main(void)
{
        return RUN(CASE(stream_ordered_memory_waits_for_no_stream),
                   CASE(a_module_whose_variables_do_not_fit_is_not_loaded),
                   CASE(what_is_free_is_known_without_the_driver));
}
