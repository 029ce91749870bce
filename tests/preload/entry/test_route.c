/* SPDX-License-Identifier: Apache-2.0 */
/* Every way to a driver function leads to ours: seen by a limit that holds. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"
#include "nvml_prototypes.h"

/* The oldest version of the C library's symbols. */
#ifdef __x86_64__
#define GLIBC_FIRST "GLIBC_2.2.5"
#else
#define GLIBC_FIRST "GLIBC_2.17"
#endif

typedef CUresult alloc_fn(CUdeviceptr *, size_t);
typedef CUresult getproc_fn(const char *, void **, int, cuuint64_t);
typedef CUresult getproc2_fn(const char *, void **, int, cuuint64_t,
                             CUdriverProcAddressQueryResult *);

/* 200 MiB fit, one more does not. */
static void check_limit_holds(alloc_fn *alloc)
{
        CUdeviceptr a, b;

        CHECK(alloc != NULL);
        CHECK_EQ(alloc(&a, 200 * MIB), CUDA_SUCCESS);
        CHECK_EQ(alloc(&b, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
}

SIM_TEST(a_linked_call)
{
        guest_machine(1);
        guest_start("200m");
        check_limit_holds(cuMemAlloc_v2);
}

SIM_TEST(a_look_up_in_the_library)
{
        guest_machine(1);
        guest_start("200m");
        check_limit_holds((alloc_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2"));
}

SIM_TEST(a_look_up_in_the_library_by_its_unversioned_name)
{
        guest_machine(1);
        guest_start("200m");
        check_limit_holds((alloc_fn *)dlsym(dlopen("libcuda.so", RTLD_NOW), "cuMemAlloc_v2"));
}

SIM_TEST(a_look_up_everywhere_and_in_what_comes_next)
{
        guest_machine(1);
        guest_start("200m");
        CHECK(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == (void *)cuMemAlloc_v2);
        CHECK(dlsym(RTLD_NEXT, "cuMemAlloc_v2") == dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
        check_limit_holds((alloc_fn *)dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
}

SIM_TEST(a_library_that_searches_itself_first)
{
        guest_machine(1);
        guest_start("200m");
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_DEEPBIND);
        check_limit_holds((alloc_fn *)dlsym(library, "cuMemAlloc_v2"));
}

SIM_TEST(the_drivers_own_look_up_of_both_versions)
{
        CUdriverProcAddressQueryResult status;
        void *function = NULL;

        guest_machine(1);
        guest_start("200m");
        CHECK_EQ(cuGetProcAddress("cuMemAlloc", &function, 11030, 0), CUDA_SUCCESS);
        CHECK(function == (void *)cuMemAlloc_v2);
        CHECK_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status), CUDA_SUCCESS);
        CHECK(function == (void *)cuMemAlloc_v2);
        /* The old version of a function is another function, not a newer one under its name. */
        CHECK_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 2000, 0, &status), CUDA_SUCCESS);
        CHECK(function == (void *)cuMemAlloc);
        CHECK_EQ(cuGetProcAddress_v2("cuMemAlloc_v2", &function, 12000, 0, &status), CUDA_SUCCESS);
        CHECK(function == NULL);
        CHECK_EQ(status, 1);
}

/* As the CUDA runtime does: one dlsym, then everything through what it found. */
SIM_TEST(a_look_up_of_the_look_up)
{
        void *function = NULL;

        guest_machine(1);
        guest_start("200m");
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        getproc_fn *first = (getproc_fn *)dlsym(library, "cuGetProcAddress");
        CHECK_EQ(first("cuGetProcAddress", &function, 12000, 0), CUDA_SUCCESS);
        CHECK(function == (void *)cuGetProcAddress_v2);
        CUdriverProcAddressQueryResult status;
        CHECK_EQ(((getproc2_fn *)function)("cuMemAlloc", &function, 12000, 0, &status),
                 CUDA_SUCCESS);
        check_limit_holds((alloc_fn *)function);
}

SIM_TEST(names_that_are_not_ours_are_left_alone)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW);

        CHECK(dlsym(library, "cuCtxGetFlags") != NULL);
        CHECK(dlsym(library, "cublasCreate") == NULL);
        CHECK(strstr(dlerror(), "cublasCreate") != NULL);
        CHECK(dlsym(library, "cuNoSuchThing") == NULL);
        CHECK(dlsym(RTLD_DEFAULT, "malloc") == (void *)malloc);
        CHECK(dlvsym(RTLD_DEFAULT, "malloc", GLIBC_FIRST) == (void *)malloc);
}

SIM_TEST(without_a_limit_the_driver_answers)
{
        CUdeviceptr address;
        size_t free_bytes, total_bytes;

        guest_machine(1);
        guest_start(NULL);
        CHECK_EQ(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
        CHECK_EQ(total_bytes, 1024 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 1000 * MIB), CUDA_SUCCESS);
}

SIM_TEST(a_limit_that_cannot_be_read_means_no_gpu)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "much", 1);
        CHECK_EQ(cuInit(0), CUDA_ERROR_NOT_PERMITTED);
}

SIM_TEST(what_would_escape_the_ledger_is_refused)
{
        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuCheckpointProcessRestore(getpid(), NULL), CUDA_ERROR_NOT_PERMITTED);
        CHECK_EQ(nvmlDeviceGetAccountingStats_v2(NULL, NULL), NVML_ERROR_NO_PERMISSION);
}

SIM_TEST(without_a_limit_nothing_is_refused)
{
        guest_machine(1);
        guest_start(NULL);
        CHECK(cuCheckpointProcessRestore(getpid(), NULL) != CUDA_ERROR_NOT_PERMITTED);
        CHECK(nvmlDeviceGetAccountingStats_v2(NULL, NULL) != NVML_ERROR_NO_PERMISSION);
}

int main(void)
{
        return RUN(CASE(a_linked_call), CASE(a_look_up_in_the_library),
                   CASE(a_look_up_in_the_library_by_its_unversioned_name),
                   CASE(a_look_up_everywhere_and_in_what_comes_next),
                   CASE(a_library_that_searches_itself_first),
                   CASE(the_drivers_own_look_up_of_both_versions), CASE(a_look_up_of_the_look_up),
                   CASE(names_that_are_not_ours_are_left_alone),
                   CASE(without_a_limit_the_driver_answers),
                   CASE(a_limit_that_cannot_be_read_means_no_gpu),
                   CASE(what_would_escape_the_ledger_is_refused),
                   CASE(without_a_limit_nothing_is_refused));
}
