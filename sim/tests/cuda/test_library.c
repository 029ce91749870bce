/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of libraries: kernels that run in every context, attributes per device, managed variables. */
#include <pthread.h>
#include <string.h>

#include "cuda_prototypes.h"
#include "sim.h"

static const char library_ptx[] =
        ".version 7.0\n.target sm_52\n.address_size 64\n"
        ".visible .global .align 4 .u32 counter = 7;\n"
        ".visible .global .attribute(.managed) .align 4 .u32 shared_word = 5;\n"
        ".visible .entry count()\n"
        "{\n"
        "  .reg .b32 %r<5>;\n"
        "  ld.global.u32 %r1, [counter];\n"
        "  add.u32 %r2, %r1, 1;\n"
        "  st.global.u32 [counter], %r2;\n"
        "  ld.global.u32 %r3, [shared_word];\n"
        "  add.u32 %r4, %r3, 1;\n"
        "  st.global.u32 [shared_word], %r4;\n"
        "  ret;\n"
        "}\n"
        ".visible .entry other(.param .u64 p) { ret; }\n";

static CUcontext contexts[2];

static void start(void)
{
        sim_machine("a100-40gb", 2);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        for (int i = 0; i < 2; i++)
                CHECK_EQ(cuDevicePrimaryCtxRetain(&contexts[i], i), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(contexts[0]), CUDA_SUCCESS);
}

static CUlibrary load(void)
{
        CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
        CUlibrary library = NULL;

        CHECK_EQ(cuLibraryLoadData(&library, library_ptx, NULL, NULL, 0, &option, NULL, 1),
                 CUDA_SUCCESS);
        return library;
}

static CUkernel kernel_of(CUlibrary library, const char *name)
{
        CUkernel kernel = NULL;

        CHECK_EQ(cuLibraryGetKernel(&kernel, library, name), CUDA_SUCCESS);
        return kernel;
}

static uint32_t counter_of(CUlibrary library)
{
        CUdeviceptr address;
        uint32_t word;

        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(cuLibraryGetGlobal(&address, NULL, library, "counter"), CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyDtoH_v2(&word, address, sizeof word), CUDA_SUCCESS);
        return word;
}

static void launch(CUkernel kernel)
{
        CHECK_EQ(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_SUCCESS);
}

SIM_TEST(a_library_needs_no_context_but_its_modules_do)
{
        start();
        CHECK_EQ(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
        CUlibrary library = load();
        CUkernel kernel = kernel_of(library, "count"), none;
        CUfunction function;
        CUmodule module;

        CHECK_EQ(cuLibraryGetKernel(&none, library, "nothing"), CUDA_ERROR_NOT_FOUND);
        CHECK_EQ(cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_CONTEXT);
        CHECK_EQ(cuLibraryGetModule(&module, library), CUDA_ERROR_INVALID_CONTEXT);
        CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
        CHECK_EQ(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(a_kernel_launches_in_the_current_context_with_its_own_variables)
{
        start();
        CUlibrary library = load();
        CUkernel kernel = kernel_of(library, "count");
        CUfunction first, second;

        launch(kernel);
        launch(kernel);
        CHECK_EQ(counter_of(library), 9);
        CHECK_EQ(cuKernelGetFunction(&first, kernel), CUDA_SUCCESS);

        CHECK_EQ(cuCtxSetCurrent(contexts[1]), CUDA_SUCCESS);
        launch(kernel);
        CHECK_EQ(counter_of(library), 8);
        CHECK_EQ(cuKernelGetFunction(&second, kernel), CUDA_SUCCESS);
        CHECK(first != second);
        CHECK_EQ(cuCtxSetCurrent(contexts[0]), CUDA_SUCCESS);
        CHECK_EQ(counter_of(library), 9);
}

SIM_TEST(a_managed_variable_is_one_for_host_and_all_contexts)
{
        start();
        CUlibrary library = load();
        CUkernel kernel = kernel_of(library, "count");
        CUdeviceptr here, there, none;
        size_t bytes = 0;

        CHECK_EQ(cuLibraryGetManaged(&here, &bytes, library, "shared_word"), CUDA_SUCCESS);
        CHECK_EQ(bytes, 4);
        CHECK_EQ(*(uint32_t *)here, 5);
        launch(kernel);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(*(uint32_t *)here, 6);
        CHECK_EQ(cuCtxSetCurrent(contexts[1]), CUDA_SUCCESS);
        launch(kernel);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(*(uint32_t *)here, 7);
        CHECK_EQ(cuLibraryGetManaged(&there, NULL, library, "shared_word"), CUDA_SUCCESS);
        CHECK(here == there);
        CHECK_EQ(cuLibraryGetManaged(&none, &bytes, library, "counter"), CUDA_ERROR_NOT_FOUND);
}

SIM_TEST(a_managed_variable_needs_no_context_and_survives_them)
{
        CUdeviceptr here, again;

        start();
        CHECK_EQ(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
        CUlibrary library = load();

        CHECK_EQ(cuLibraryGetManaged(&here, NULL, library, "shared_word"), CUDA_SUCCESS);
        *(uint32_t *)here = 11;
        CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        CHECK_EQ(cuLibraryGetManaged(&again, NULL, library, "shared_word"), CUDA_SUCCESS);
        CHECK(again == here);
        CHECK_EQ(*(uint32_t *)here, 11);
        CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
}

SIM_TEST(attributes_are_per_device)
{
        start();
        CUlibrary library = load();
        CUkernel kernel = kernel_of(library, "count");
        const CUfunction_attribute limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        CUfunction function;
        int value;

        CHECK_EQ(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0), CUDA_SUCCESS);
        CHECK(value > 0);
        CHECK_EQ(cuKernelSetAttribute(limit, 100000, kernel, 1), CUDA_SUCCESS);
        CHECK_EQ(cuKernelGetAttribute(&value, limit, kernel, 1), CUDA_SUCCESS);
        CHECK_EQ(value, 100000);
        CHECK_EQ(cuKernelGetAttribute(&value, limit, kernel, 0), CUDA_SUCCESS);
        CHECK_EQ(value, 49152);
        CHECK_EQ(cuKernelGetAttribute(&value, limit, kernel, 2), CUDA_ERROR_INVALID_DEVICE);

        CHECK_EQ(cuCtxSetCurrent(contexts[1]), CUDA_SUCCESS);
        CHECK_EQ(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
        CHECK_EQ(cuFuncGetAttribute(&value, limit, function), CUDA_SUCCESS);
        CHECK_EQ(value, 100000);
        CHECK_EQ(cuKernelSetAttribute(limit, 50000, kernel, 1), CUDA_SUCCESS);
        CHECK_EQ(cuFuncGetAttribute(&value, limit, function), CUDA_SUCCESS);
        CHECK_EQ(value, 50000);
}

SIM_TEST(kernels_know_their_name_library_and_parameters)
{
        start();
        CUlibrary library = load(), owner = NULL;
        CUkernel kernel = kernel_of(library, "other"), all[2] = { 0 };
        const char *name = NULL;
        unsigned count = 0;
        size_t offset, size;

        CHECK_EQ(cuKernelGetName(&name, kernel), CUDA_SUCCESS);
        CHECK_STR(name, "other");
        CHECK_EQ(cuKernelGetLibrary(&owner, kernel), CUDA_SUCCESS);
        CHECK(owner == library);
        CHECK_EQ(cuKernelGetParamInfo(kernel, 0, &offset, &size), CUDA_SUCCESS);
        CHECK(offset == 0 && size == 8);
        CHECK_EQ(cuKernelGetParamInfo(kernel, 1, &offset, &size), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLibraryGetKernelCount(&count, library), CUDA_SUCCESS);
        CHECK_EQ(count, 2);
        CHECK_EQ(cuLibraryEnumerateKernels(all, 2, library), CUDA_SUCCESS);
        CHECK(all[0] != all[1] && (all[0] == kernel || all[1] == kernel));
}

SIM_TEST(a_context_that_is_reset_loads_the_library_afresh)
{
        start();
        CUlibrary library = load();
        CUkernel kernel = kernel_of(library, "count");

        launch(kernel);
        CHECK_EQ(counter_of(library), 8);
        CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&contexts[0], 0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(contexts[0]), CUDA_SUCCESS);
        CHECK_EQ(counter_of(library), 7);
        launch(kernel);
        CHECK_EQ(counter_of(library), 8);
}

SIM_TEST(unloading_ends_kernels_and_frees_memory)
{
        size_t before, after, total;

        start();
        CHECK_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
        CUlibrary library = load();
        CUkernel kernel = kernel_of(library, "count");
        CUmodule module;

        launch(kernel);
        CHECK_EQ(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
        CHECK_EQ(cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED);
        CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
        CHECK_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
        CHECK(after == before);
        CHECK_EQ(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_HANDLE);
}

enum { THREADS = 8, ROUNDS = 20 };

static struct {
        CUkernel kernel;
        pthread_barrier_t together;
        CUfunction functions[THREADS];
} race;

static void *first_use(void *argument)
{
        unsigned me = (unsigned)(uintptr_t)argument;
        CUfunction function = NULL;
        int value;

        cuCtxSetCurrent(contexts[0]);
        pthread_barrier_wait(&race.together);
        if (cuKernelGetFunction(&function, race.kernel) != CUDA_SUCCESS ||
            cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000,
                                 race.kernel, (int)(me % 2)) != CUDA_SUCCESS ||
            cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, race.kernel, 1) !=
                    CUDA_SUCCESS ||
            cuLaunchKernel((CUfunction)race.kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) !=
                    CUDA_SUCCESS)
                return NULL;
        race.functions[me] = function;
        return NULL;
}

SIM_TEST(threads_that_use_a_library_first_at_once_load_it_once)
{
        pthread_t threads[THREADS];

        start();
        pthread_barrier_init(&race.together, NULL, THREADS);
        for (int round = 0; round < ROUNDS; round++) {
                CUlibrary library = load();

                race.kernel = kernel_of(library, "count");
                for (unsigned i = 0; i < THREADS; i++)
                        pthread_create(&threads[i], NULL, first_use, (void *)(uintptr_t)i);
                for (unsigned i = 0; i < THREADS; i++)
                        pthread_join(threads[i], NULL);
                for (unsigned i = 0; i < THREADS; i++)
                        CHECK(race.functions[i] && race.functions[i] == race.functions[0]);
                CHECK_EQ(counter_of(library), 7 + THREADS);
                CHECK_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
                memset(race.functions, 0, sizeof race.functions);
        }
}

int main(void)
{
        return RUN(CASE(a_library_needs_no_context_but_its_modules_do),
                   CASE(a_kernel_launches_in_the_current_context_with_its_own_variables),
                   CASE(a_managed_variable_is_one_for_host_and_all_contexts),
                   CASE(a_managed_variable_needs_no_context_and_survives_them),
                   CASE(attributes_are_per_device),
                   CASE(kernels_know_their_name_library_and_parameters),
                   CASE(a_context_that_is_reset_loads_the_library_afresh),
                   CASE(unloading_ends_kernels_and_frees_memory),
                   CASE(threads_that_use_a_library_first_at_once_load_it_once));
}
