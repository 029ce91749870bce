/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of quantity: what people write for sizes, numbers and percentages. */
#include "quantity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

static uint64_t bytes_of(const char *text)
{
        struct err e = { 0 };
        uint64_t bytes = 12345;

        assert_int_equal(quantity_parse_bytes(text, &bytes, &e), 0);
        return bytes;
}

static int refusal_of(const char *text, const char *sentence_part)
{
        struct err e = { 0 };
        uint64_t bytes = 12345;
        const int r = quantity_parse_bytes(text, &bytes, &e);

        assert_int_equal(bytes, 12345); /* untouched on failure */
        assert_non_null(strstr(e.text, sentence_part));
        return r;
}

TEST(plain_numbers_are_bytes)
{
        CHECK_EQ(bytes_of("0"), 0);
        CHECK_EQ(bytes_of("4096"), 4096);
        CHECK_EQ(bytes_of("7B"), 7);
}

TEST(units_count_in_1024s_in_either_case)
{
        CHECK_EQ(bytes_of("3k"), 3 << 10);
        CHECK_EQ(bytes_of("3K"), 3 << 10);
        CHECK_EQ(bytes_of("300m"), 300 << 20);
        CHECK_EQ(bytes_of("300Mi"), 300 << 20);
        CHECK_EQ(bytes_of("300MiB"), 300 << 20);
        CHECK_EQ(bytes_of("2G"), UINT64_C(2) << 30);
        CHECK_EQ(bytes_of("1Ti"), UINT64_C(1) << 40);
}

TEST(fractions_of_a_unit_are_fine)
{
        CHECK_EQ(bytes_of("1.5g"), UINT64_C(3) << 29);
        CHECK_EQ(bytes_of(".5k"), 512);
}

/* 0 is no limit: a limit that is too small must not become it. */
TEST(what_is_less_than_a_byte_is_not_zero)
{
        static const char thousand_zeros[] = { [0 ... 999] = '0', '\0' };
        char text[1100];

        CHECK_EQ(refusal_of("0.0001k", "'0.0001k' is less than one byte"), -EINVAL);
        CHECK_EQ(refusal_of("0.0000000001g", "less than one byte"), -EINVAL);
        CHECK_EQ(refusal_of(".0009Ki", "less than one byte"), -EINVAL);
        CHECK_EQ(bytes_of("0.001k"), 1);
        CHECK_EQ(bytes_of("0.0g"), 0);
        CHECK_EQ(bytes_of("0k"), 0);
        /* So little that it is 0 to a double. */
        snprintf(text, sizeof text, "0.%s1k", thousand_zeros);
        CHECK_EQ(refusal_of(text, "less than one byte"), -EINVAL);
        snprintf(text, sizeof text, "0.%s1", thousand_zeros);
        CHECK_EQ(refusal_of(text, "less than one byte"), -EINVAL);
}

TEST(what_is_no_size_is_refused_with_a_sentence)
{
        CHECK_EQ(refusal_of("", "not a size"), -EINVAL);
        CHECK_EQ(refusal_of("abc", "not a size"), -EINVAL);
        CHECK_EQ(refusal_of("-1", "not a size"), -EINVAL);
        CHECK_EQ(refusal_of(".", "not a size"), -EINVAL);
        CHECK_EQ(refusal_of("1GiBB", "unknown unit 'GiBB'"), -EINVAL);
        CHECK_EQ(refusal_of("1 g", "unknown unit"), -EINVAL);
        CHECK_EQ(refusal_of("1..5g", "unknown unit"), -EINVAL);
        CHECK_EQ(refusal_of("1.5", "whole number of bytes"), -EINVAL);
}

TEST(too_large_is_refused_not_wrapped)
{
        CHECK_EQ(refusal_of("18446744073709551616", "too large"), -ERANGE);
        CHECK_EQ(refusal_of("9999999t", "too large"), -ERANGE);
        CHECK_EQ(refusal_of("8388608t", "too large"), -ERANGE);
        CHECK_EQ(bytes_of("8388607t"), UINT64_C(8388607) << 40);
}

TEST(numbers_keep_to_their_bounds)
{
        struct err e = { 0 };
        double number = -1;
        uint64_t whole = 99;

        CHECK_EQ(quantity_parse_number("0.5", "noise", 0, 2, &number, &e), 0);
        CHECK(number > 0.499 && number < 0.501);
        CHECK_EQ(quantity_parse_number("2.1", "noise", 0, 2, &number, &e), -ERANGE);
        CHECK_STR(e.text, "noise must be from 0 to 2, not 2.1");
        CHECK_EQ(quantity_parse_number("1x", "noise", 0, 2, &number, &e), -EINVAL);
        CHECK_EQ(quantity_parse_whole("16", "GPUs", 1, 16, &whole, &e), 0);
        CHECK_EQ(whole, 16);
        CHECK_EQ(quantity_parse_whole("17", "GPUs", 1, 16, &whole, &e), -ERANGE);
        CHECK_EQ(quantity_parse_whole("1.5", "GPUs", 1, 16, &whole, &e), -EINVAL);
        CHECK_EQ(whole, 16);
}

TEST(percentages_may_carry_their_sign)
{
        struct err e = { 0 };
        unsigned percent = 7;

        CHECK_EQ(quantity_parse_percent("30", "cores", &percent, &e), 0);
        CHECK_EQ(percent, 30);
        CHECK_EQ(quantity_parse_percent("100%", "cores", &percent, &e), 0);
        CHECK_EQ(percent, 100);
        CHECK_EQ(quantity_parse_percent("0", "cores", &percent, &e), -ERANGE);
        CHECK_EQ(quantity_parse_percent("101", "cores", &percent, &e), -ERANGE);
        CHECK_EQ(quantity_parse_percent("30%%", "cores", &percent, &e), -EINVAL);
        CHECK_EQ(quantity_parse_percent("%", "cores", &percent, &e), -EINVAL);
        CHECK_EQ(quantity_parse_percent("99999999999", "cores", &percent, &e), -EINVAL);
        CHECK_EQ(percent, 100);
}

TEST(a_cap_of_zero_is_no_limit)
{
        struct err e = { 0 };
        unsigned percent = 7;

        CHECK_EQ(quantity_parse_cap("0%", "cores", &percent, &e), 0);
        CHECK_EQ(percent, 0);
        CHECK_EQ(quantity_parse_cap("30%", "cores", &percent, &e), 0);
        CHECK_EQ(percent, 30);
        CHECK_EQ(quantity_parse_cap("101", "cores", &percent, &e), -ERANGE);
        CHECK_STR(e.text, "cores must be 0 (no limit) or a percentage up to 100, not '101'");
        CHECK_EQ(percent, 30);
}

TEST(sizes_are_shown_without_loss)
{
        char text[QUANTITY_TEXT_BYTES];

        quantity_format_bytes(0, text);
        CHECK_STR(text, "0B");
        quantity_format_bytes(UINT64_C(40) << 30, text);
        CHECK_STR(text, "40GiB");
        quantity_format_bytes(UINT64_C(81559) << 20, text);
        CHECK_STR(text, "81559MiB");
        quantity_format_bytes(1536, text);
        CHECK_STR(text, "1.5KiB");
}

int main(void)
{
        return RUN(CASE(plain_numbers_are_bytes), CASE(units_count_in_1024s_in_either_case),
                   CASE(fractions_of_a_unit_are_fine), CASE(what_is_less_than_a_byte_is_not_zero),
                   CASE(what_is_no_size_is_refused_with_a_sentence),
                   CASE(too_large_is_refused_not_wrapped), CASE(numbers_keep_to_their_bounds),
                   CASE(percentages_may_carry_their_sign), CASE(a_cap_of_zero_is_no_limit),
                   CASE(sizes_are_shown_without_loss));
}
