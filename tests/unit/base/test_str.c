/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of str: growing, comparing, parsing, copying. */
#include "str.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

TEST(a_string_grows_by_pieces)
{
        struct str str = { 0 };

        for (unsigned i = 0; i < 1000; i++)
                CHECK_EQ(str_appendf(&str, "%u,", i % 10), 0);
        CHECK_EQ(str.length, 2000);
        CHECK_EQ(strlen(str.text), 2000);
        CHECK_EQ(memcmp(str.text, "0,1,2,", 6), 0);
        str_done(&str);
        CHECK(!str.text);
}

TEST(a_long_piece_fits_at_once)
{
        struct str str = { 0 };

        CHECK_EQ(str_appendf(&str, "%0500d", 7), 0);
        CHECK_EQ(str_append(&str, "!"), 0);
        CHECK_EQ(str.length, 501);
        CHECK_STR(str.text + 499, "7!");
        str_done(&str);
}

TEST(missing_text_equals_only_missing_text)
{
        CHECK(str_is_equal(NULL, NULL));
        CHECK(!str_is_equal(NULL, ""));
        CHECK(str_is_equal("a", "a"));
        CHECK(!str_is_equal("a", "b"));
}

TEST(a_prefix_is_found_only_in_front)
{
        CHECK(str_starts_with("GPU-1234", "GPU-"));
        CHECK(!str_starts_with("GP", "GPU-"));
        CHECK(str_starts_with("x", ""));
}

TEST(numbers_parse_whole_or_not_at_all)
{
        uint64_t number = 42;

        CHECK_EQ(str_parse_u64("18446744073709551615", &number), 0);
        CHECK(number == UINT64_MAX);
        number = 42;
        CHECK_EQ(str_parse_u64("18446744073709551616", &number), -ERANGE);
        CHECK_EQ(str_parse_u64("", &number), -EINVAL);
        CHECK_EQ(str_parse_u64("-1", &number), -EINVAL);
        CHECK_EQ(str_parse_u64("1 ", &number), -EINVAL);
        CHECK_EQ(number, 42);
}

TEST(a_copy_is_cut_and_terminated)
{
        char to[4] = "zzz";

        str_copy(to, sizeof to, "abcdef");
        CHECK_STR(to, "abc");
        str_copy(to, sizeof to, "a");
        CHECK_STR(to, "a");
}

int main(void)
{
        return RUN(CASE(a_string_grows_by_pieces), CASE(a_long_piece_fits_at_once),
                   CASE(missing_text_equals_only_missing_text),
                   CASE(a_prefix_is_found_only_in_front), CASE(numbers_parse_whole_or_not_at_all),
                   CASE(a_copy_is_cut_and_terminated));
}
