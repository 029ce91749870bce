/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes quantities as whole numbers. */
#include "amount.h"

#include <errno.h>

#include "unit.h"

static void is(const char *text, int64_t expected)
{
        int64_t amount = -1;
        struct err e = { 0 };

        CHECK_EQ(amount_parse(text, &amount, &e), 0);
        CHECK_EQ(amount, expected);
}

static void fails(const char *text, int code)
{
        int64_t amount;
        struct err e = { 0 };

        CHECK_EQ(amount_parse(text, &amount, &e), code);
        CHECK(e.text[0] != '\0');
}

TEST(whole_numbers)
{
        is("0", 0);
        is("1", 1);
        is("+2", 2);
        is("-0", 0);
        is("007", 7);
        is("1.", 1);
        is("1.000", 1);
        is("9223372036854775807", INT64_MAX);
}

TEST(suffixes)
{
        is("1k", 1000);
        is("2000m", 2);
        is("3000000u", 3);
        is("4000000000n", 4);
        is("1.5k", 1500);
        is(".5M", 500000);
        is("1Ki", 1024);
        is("0.5Ki", 512);
        is("1.5Gi", INT64_C(3) << 29);
        is("7Ei", INT64_C(7) << 60);
        is("9E", INT64_C(9000000000000000000));
}

TEST(exponents)
{
        is("1e1", 10);
        is("1E1", 10);
        is("12e+2", 1200);
        is("500e-2", 5);
        is("1.25e2", 125);
        is("0e99999999", 0);
}

TEST(not_whole)
{
        fails("1m", -EDOM);
        fails("0.5", -EDOM);
        fails("1e-1", -EDOM);
        fails("0.3Ki", -EDOM);
        fails("-1", -EDOM);
        fails("0.00000000000000000000000000000000000000000000001", -EDOM);
}

TEST(too_large)
{
        fails("9223372036854775808", -ERANGE);
        fails("8Ei", -ERANGE);
        fails("10E", -ERANGE);
        fails("1e19", -ERANGE);
        fails("1e99999999", -ERANGE);
        fails("99999999999999999999999999999999999999999999999", -ERANGE);
}

TEST(no_quantity)
{
        fails("", -EINVAL);
        fails(".", -EINVAL);
        fails("-", -EINVAL);
        fails("one", -EINVAL);
        fails("1 ", -EINVAL);
        fails("1K", -EINVAL);
        fails("1ki", -EINVAL);
        fails("1e", -EINVAL);
        fails("1e+", -EINVAL);
        fails("1e1k", -EINVAL);
        fails("0x10", -EINVAL);
        fails("1.2.3", -EINVAL);
        fails("--1", -EINVAL);
}

int main(void)
{
        return RUN(CASE(whole_numbers), CASE(suffixes), CASE(exponents), CASE(not_whole),
                   CASE(too_large), CASE(no_quantity));
}
