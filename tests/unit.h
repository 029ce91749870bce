/* unit: a test is a sentence and one behaviour: TEST(a_failed_read_leaves_nothing) { … } */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) static void name(void **state __attribute__((unused)))
#define CASE(name) cmocka_unit_test(name)

/* int main(void) { return RUN(CASE(first), CASE(second)); } */
#define RUN(...)                                                   \
        ({                                                         \
                const struct CMUnitTest cases[] = { __VA_ARGS__ }; \
                cmocka_run_group_tests(cases, NULL, NULL);         \
        })

#define CHECK(condition)       assert_true(condition)
#define CHECK_EQ(left, right)  assert_int_equal(left, right)
#define CHECK_STR(left, right) assert_string_equal(left, right)
