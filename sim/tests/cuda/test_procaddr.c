/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of cuGetProcAddress: the look-ups that real CUDA runtimes make, and their corner cases. */
#include <stdio.h>
#include <string.h>

#include "cuda_prototypes.h"
#include "sim.h"

#define UNTOUCHED ((CUdriverProcAddressQueryResult)77)

static void *ask(const char *name, int version, unsigned flags, int *ret_status)
{
        CUdriverProcAddressQueryResult status = UNTOUCHED;
        void *function = (void *)&status;

        CHECK_EQ(cuGetProcAddress_v2(name, &function, version, flags, &status), CUDA_SUCCESS);
        *ret_status = (int)status;
        return function;
}

#define ANSWERS(name, version, flags, symbol)                                 \
        do {                                                                  \
                int status_;                                                  \
                CHECK(ask(name, version, flags, &status_) == (void *)symbol); \
                CHECK_EQ(status_, CU_GET_PROC_ADDRESS_SUCCESS);               \
        } while (0)

#define LACKS(name, version, flags, why)                            \
        do {                                                        \
                int status_;                                        \
                CHECK(ask(name, version, flags, &status_) == NULL); \
                CHECK_EQ(status_, why);                             \
        } while (0)

SIM_TEST(the_newest_variant_up_to_the_version_answers)
{
        ANSWERS("cuMemAlloc", 2000, 0, cuMemAlloc);
        ANSWERS("cuMemAlloc", 3019, 0, cuMemAlloc);
        ANSWERS("cuMemAlloc", 3020, 0, cuMemAlloc_v2);
        ANSWERS("cuMemAlloc", 99999, 0, cuMemAlloc_v2);
        ANSWERS("cuCtxCreate", 11030, 0, cuCtxCreate_v2);
        ANSWERS("cuCtxCreate", 11040, 0, cuCtxCreate_v3);
        ANSWERS("cuMemAdvise", 8000, 0, cuMemAdvise);
        ANSWERS("cuMemAdvise", 12020, 0, cuMemAdvise_v2);
        ANSWERS("cuGetProcAddress", 11030, 0, cuGetProcAddress);
        ANSWERS("cuGetProcAddress", 12000, 0, cuGetProcAddress_v2);
}

SIM_TEST(a_negative_version_counts_as_the_newest)
{
        ANSWERS("cuMemAlloc", -5, 0, cuMemAlloc_v2);
}

SIM_TEST(a_version_before_the_first_is_not_sufficient)
{
        LACKS("cuMemAlloc", 1999, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
        LACKS("cuMemAlloc", 0, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
        LACKS("cuMemAllocAsync", 11010, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

SIM_TEST(unknown_suffixed_and_empty_names_are_not_found)
{
        LACKS("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        LACKS("nope", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        LACKS("cuMemAlloc_v2", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        LACKS("cuLaunchKernel_ptsz", 13000, 2, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        LACKS("cumemalloc", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

SIM_TEST(flag_2_answers_with_the_twin_of_the_per_thread_default_stream)
{
        ANSWERS("cuLaunchKernel", 12000, 0, cuLaunchKernel);
        ANSWERS("cuLaunchKernel", 12000, 1, cuLaunchKernel);
        ANSWERS("cuLaunchKernel", 12000, 2, cuLaunchKernel_ptsz);
        ANSWERS("cuLaunchKernel", 12000, 3, cuLaunchKernel_ptsz);
        ANSWERS("cuMemcpyHtoD", 7000, 2, cuMemcpyHtoD_v2_ptds);
        ANSWERS("cuStreamBeginCapture", 10000, 2, cuStreamBeginCapture_ptsz);
        ANSWERS("cuStreamBeginCapture", 10010, 2, cuStreamBeginCapture_v2_ptsz);
        ANSWERS("cuMemAlloc", 12000, 2, cuMemAlloc_v2);
        LACKS("cuLaunchKernel", 6000, 2, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

SIM_TEST(unknown_flags_are_refused_and_nothing_is_written)
{
        CUdriverProcAddressQueryResult status = UNTOUCHED;
        void *function = &status;

        CHECK_EQ(cuGetProcAddress_v2("cuInit", &function, 12000, 4, &status),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuGetProcAddress("cuInit", &function, 12000, 4), CUDA_ERROR_INVALID_VALUE);
        CHECK(function == &status);
        CHECK_EQ(status, UNTOUCHED);
}

SIM_TEST(the_first_variant_fails_where_the_second_says_why)
{
        int here;
        void *function = &here;

        CHECK_EQ(cuGetProcAddress("nope", &function, 12000, 0), CUDA_ERROR_NOT_FOUND);
        CHECK_EQ(cuGetProcAddress("cuMemAlloc", &function, 1999, 0), CUDA_ERROR_NOT_FOUND);
        CHECK(function == &here);
        CHECK_EQ(cuGetProcAddress("cuMemAlloc", &function, 3020, 0), CUDA_SUCCESS);
        CHECK(function == (void *)cuMemAlloc_v2);
}

SIM_TEST(the_status_may_be_left_out)
{
        void *function = NULL;

        CHECK_EQ(cuGetProcAddress_v2("cuInit", &function, 12000, 0, NULL), CUDA_SUCCESS);
        CHECK(function == (void *)cuInit);
}

SIM_TEST(a_driver_does_not_have_what_came_after_it)
{
        struct machine_spec spec;
        int version;

        machine_spec_init(&spec);
        spec.preset = "t4-16gb";
        spec.driver_version = 12020;
        sim_machine_from(&spec);
        CHECK_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
        CHECK_EQ(version, 12020);
        LACKS("cuCheckpointProcessLock", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        ANSWERS("cuCtxCreate", 13000, 0, cuCtxCreate_v3);
}

/* Every look-up of a runtime's start, as recorded: name@version/flag. All but the empty name and
 * what the runtime is newer than must be there. */
static void replay(const char *path, bool is_first_variant)
{
        FILE *file = fopen(path, "re");
        char name[128], line[160];
        int version, count = 0;
        unsigned flags;

        CHECK(file != NULL);
        while (fgets(line, sizeof line, file)) {
                void *function = NULL;
                int status;

                count++;
                if (strcmp(line, "''@0/0\n") == 0) {
                        LACKS("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
                        continue;
                }
                CHECK_EQ(sscanf(line, "%127[^@]@%d/%u", name, &version, &flags), 3);
                if (is_first_variant)
                        CHECK_EQ(cuGetProcAddress(name, &function, version, flags), CUDA_SUCCESS);
                else
                        function = ask(name, version, flags, &status);
                if (!function)
                        print_message("# %s of %s is missing\n", name, path);
                CHECK(function != NULL);
        }
        fclose(file);
        CHECK(count > 300);
}

SIM_TEST(runtime_11_8_finds_everything)
{
        replay(TEST_DATA "/getproc-order-cudart-11.8.txt", true);
}

SIM_TEST(runtime_13_0_finds_everything)
{
        replay(TEST_DATA "/getproc-order-cudart-13.0.txt", false);
}

int main(void)
{
        return RUN(CASE(the_newest_variant_up_to_the_version_answers),
                   CASE(a_negative_version_counts_as_the_newest),
                   CASE(a_version_before_the_first_is_not_sufficient),
                   CASE(unknown_suffixed_and_empty_names_are_not_found),
                   CASE(flag_2_answers_with_the_twin_of_the_per_thread_default_stream),
                   CASE(unknown_flags_are_refused_and_nothing_is_written),
                   CASE(the_first_variant_fails_where_the_second_says_why),
                   CASE(the_status_may_be_left_out),
                   CASE(a_driver_does_not_have_what_came_after_it),
                   CASE(runtime_11_8_finds_everything), CASE(runtime_13_0_finds_everything));
}
