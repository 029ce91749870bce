/* SPDX-License-Identifier: Apache-2.0 */
/* json_splice: one value changes, every other byte stays. */
#include "json_splice.h"

#include <errno.h>

#include "unit.h"

static const char *const env[] = { "process", "env", NULL };

static void put(const char *before, const char *const *path, const char *value, const char *after)
{
        struct str text = { 0 };

        CHECK_EQ(str_append(&text, before), 0);
        CHECK_EQ(json_splice_put(&text, path, value), 0);
        CHECK_STR(text.text, after);
        str_done(&text);
}

TEST(a_value_is_replaced_and_nothing_else)
{
        put("{ \"a\" : 1e3,\n\t\"process\":{\"x\":[\"}\",{}], \"env\" : [ \"A=\\\"\" ] , "
            "\"z\":null}}",
            env, "[]",
            "{ \"a\" : 1e3,\n\t\"process\":{\"x\":[\"}\",{}], \"env\" : [] , \"z\":null}}");
}

TEST(a_name_in_a_text_or_deeper_is_no_member)
{
        put("{\"a\":\"\\\"env\\\":\",\"o\":{\"process\":{\"env\":1}},\"process\":{\"e\":{\"env\":2}"
            ",\"env\":3}}",
            env, "4",
            "{\"a\":\"\\\"env\\\":\",\"o\":{\"process\":{\"env\":1}},\"process\":{\"e\":{\"env\":2}"
            ",\"env\":4}}");
}

TEST(missing_members_are_made)
{
        put("{}", env, "[]", "{\"process\":{\"env\":[]}}");
        put("{\"a\":1 }", env, "[]", "{\"a\":1 ,\"process\":{\"env\":[]}}");
        put("{\"process\":{ }}", env, "[]", "{\"process\":{ \"env\":[]}}");
}

TEST(what_is_no_object_has_no_members)
{
        struct str text = { 0 };

        str_append(&text, "{\"process\":[1]}");
        CHECK_EQ(json_splice_put(&text, env, "[]"), -EBADMSG);
        CHECK_STR(text.text, "{\"process\":[1]}");
        str_done(&text);
}

TEST(only_whole_numbers_that_are_too_large_are_tamed)
{
        char text[] = "[18446744073709551615,9223372036854775807,-9223372036854775809, "
                      "1.18446744073709551615, \"18446744073709551615\",1e18446744073709551615]";

        json_splice_tame(text);
        CHECK_STR(text, "[184467440737095516  ,9223372036854775807,-922337203685477580 , "
                        "1.18446744073709551615, \"18446744073709551615\",1e18446744073709551615]");
}

int main(void)
{
        return RUN(CASE(a_value_is_replaced_and_nothing_else),
                   CASE(a_name_in_a_text_or_deeper_is_no_member), CASE(missing_members_are_made),
                   CASE(what_is_no_object_has_no_members),
                   CASE(only_whole_numbers_that_are_too_large_are_tamed));
}
