/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of code that rests: less of it is mapped, and all of it works. */
#include "code_trim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "unit.h"

static long file_kb(void)
{
        char *text = NULL, *at;
        long kb = -1;

        CHECK_EQ(file_read("/proc/self/status", &text), 0);
        at = strstr(text, "RssFile:");
        if (at)
                kb = strtol(at + strlen("RssFile:"), NULL, 10);
        free(text);
        return kb;
}

static int compare(const void *a, const void *b)
{
        return *(const int *)a - *(const int *)b;
}

TEST(less_is_mapped_and_all_works)
{
        int numbers[] = { 3, 1, 2 };
        const long before = file_kb();

        for (unsigned i = 0; i < 100; i++) {
                code_trim();
                qsort(numbers, 3, sizeof *numbers, compare);
                CHECK_EQ(numbers[i % 3], (int)(i % 3) + 1);
        }
        code_trim();
        const long after = file_kb();
        CHECK(before > 0);
        CHECK(after < before);
}

int main(void)
{
        return RUN(CASE(less_is_mapped_and_all_works));
}
