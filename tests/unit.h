/* SPDX-License-Identifier: Apache-2.0 */
/* unit: a test is a sentence and one behaviour: TEST(a_failed_read_leaves_nothing) { … } */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST(name) static void name(void **state __attribute__((unused)))
#define CASE(name) cmocka_unit_test(name)

/* A case that this run cannot carry, see tools/test-report --skips. */
static inline void unit_skipped(void **state __attribute__((unused)))
{
        skip();
}

/* UNIT_SKIP=NAME,NAME...: these are counted as skipped. */
static inline void unit_choose(struct CMUnitTest *cases, size_t count)
{
        const char *skips = getenv("UNIT_SKIP");

        for (size_t i = 0; skips && i < count; i++)
                for (const char *at = skips; (at = strstr(at, cases[i].name)); at++) {
                        const char end = at[strlen(cases[i].name)];
                        if ((at == skips || at[-1] == ',') && (!end || end == ','))
                                cases[i].test_func = unit_skipped;
                }
}

/* int main(void) { return RUN(CASE(first), CASE(second)); } */
#define RUN(...)                                                  \
        ({                                                        \
                struct CMUnitTest cases[] = { __VA_ARGS__ };      \
                unit_choose(cases, sizeof cases / sizeof *cases); \
                cmocka_run_group_tests(cases, NULL, NULL);        \
        })

#define CHECK(condition)       assert_true(condition)
#define CHECK_EQ(left, right)  assert_int_equal(left, right)
#define CHECK_STR(left, right) assert_string_equal(left, right)
