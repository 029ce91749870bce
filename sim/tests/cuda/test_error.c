/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of cuGetErrorName and cuGetErrorString. */
#include <string.h>

#include "cuda_prototypes.h"
#include "sim.h"

SIM_TEST(well_known_codes_have_their_names_and_phrases)
{
        const char *text;

        CHECK_EQ(cuGetErrorName(CUDA_SUCCESS, &text), CUDA_SUCCESS);
        CHECK_STR(text, "CUDA_SUCCESS");
        CHECK_EQ(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
        CHECK_STR(text, "CUDA_ERROR_OUT_OF_MEMORY");
        CHECK_EQ(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
        CHECK_STR(text, "out of memory");
        CHECK_EQ(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
        CHECK_STR(text, "invalid argument");
        CHECK_EQ(cuGetErrorName(CUDA_ERROR_UNKNOWN, &text), CUDA_SUCCESS);
        CHECK_STR(text, "CUDA_ERROR_UNKNOWN");
}

SIM_TEST(a_code_that_is_none_gives_null_and_an_error)
{
        static const int codes[] = { -1, 9, 35, 998, 1000, 1 << 30 };

        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
                const char *text = "untouched";

                CHECK_EQ(cuGetErrorName((CUresult)codes[i], &text), CUDA_ERROR_INVALID_VALUE);
                CHECK(text == NULL);
                text = "untouched";
                CHECK_EQ(cuGetErrorString((CUresult)codes[i], &text), CUDA_ERROR_INVALID_VALUE);
                CHECK(text == NULL);
        }
}

/* The table is searched by halves: one row out of order would hide others. */
SIM_TEST(every_code_has_a_name_of_its_own_and_a_phrase)
{
        const char *seen[128] = { 0 }, *text;
        size_t count = 0;

        for (int code = 0; code < 1000; code++) {
                if (cuGetErrorName((CUresult)code, &text) != CUDA_SUCCESS)
                        continue;
                CHECK(strncmp(text, "CUDA_", 5) == 0);
                for (size_t i = 0; i < count; i++)
                        CHECK(strcmp(seen[i], text) != 0);
                seen[count++] = text;
                CHECK_EQ(cuGetErrorString((CUresult)code, &text), CUDA_SUCCESS);
                CHECK(strlen(text) > 4);
        }
        CHECK_EQ(count, 102);
}

int main(void)
{
        return RUN(CASE(well_known_codes_have_their_names_and_phrases),
                   CASE(a_code_that_is_none_gives_null_and_an_error),
                   CASE(every_code_has_a_name_of_its_own_and_a_phrase));
}
