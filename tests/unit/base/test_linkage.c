/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are found at run time. */
#include "linkage.h"

#include <dlfcn.h>

#include "unit.h"

enum { ROWS = 3 };

TEST(a_library_that_is_not_there_is_no_library)
{
        assert_null(linkage_open("libvgpu-nowhere.so.1"));
}

TEST(rows_are_filled_and_the_first_that_is_missing_is_named)
{
        __typeof__(dlopen) *open = NULL;
        __typeof__(dlclose) *close = NULL, *strange = dlclose;
        const struct linkage_row rows[ROWS] = { { &open, "dlopen" },
                                                { &strange, "no_such_function" },
                                                { &close, "dlclose" } };
        void *library = linkage_open("libc.so.6");

        assert_non_null(library);
        CHECK_STR(linkage_find(library, rows, ROWS), "no_such_function");
        CHECK(open == dlsym(library, "dlopen"));
        CHECK(close == dlsym(library, "dlclose"));
        assert_null(strange);
        assert_null(linkage_find(library, rows, 1));
        dlclose(library);
}

int main(void)
{
        return RUN(CASE(a_library_that_is_not_there_is_no_library),
                   CASE(rows_are_filled_and_the_first_that_is_missing_is_named));
}
