/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of objects that our JSON reader refuses: read all the same, or at least seen. */
#include "kube_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_tame.h"
#include "unit.h"

#define UNKNOWN "\xef\xbf\xbd"

/* What the value of "a" is read as. */
static void reads(const char *value, size_t count, bool is_tamed, const char *wanted)
{
        char text[256];
        bool was_tamed;
        struct err e = { 0 };
        int length = snprintf(text, sizeof text, "{\"a\":[\"");

        memcpy(text + length, value, count);
        strcpy(text + length + count, "\"]}");
        json_t *root = kube_object_load(text, (size_t)length + count + 3, &was_tamed, &e);
        assert_non_null(root);
        const json_t *string = json_array_get(json_object_get(root, "a"), 0);
        CHECK_STR(json_string_value(string), wanted);
        CHECK_EQ(json_string_length(string), strlen(wanted)); /* no NUL inside */
        CHECK_EQ(was_tamed, is_tamed);
        json_decref(root);
}
#define READS(value, is_tamed, wanted) reads(value, sizeof value - 1, is_tamed, wanted)

TEST(values_that_json_cannot_hold_are_read_as_unknown)
{
        READS("plain \\\"\\u0041\\ud83d\\ude00", false, "plain \"A\xf0\x9f\x98\x80");
        READS("2g\\u0000x", true, "2g" UNKNOWN "x");
        READS("\\\\u0000", false, "\\u0000"); /* a backslash, and text */
        READS("\\u0000\\u0000", true, UNKNOWN UNKNOWN);
        READS("a\0b", true, "a" UNKNOWN "b");
        READS("a\tb\x1f", true, "a" UNKNOWN "b" UNKNOWN);
        READS("\\ud800", true, UNKNOWN);
        READS("\\ud800\\u0041", true, UNKNOWN "A");
        READS("\\udc00\\ud83d\\ude00", true, UNKNOWN "\xf0\x9f\x98\x80");
        READS("\xff \xc0\x80", true, UNKNOWN " " UNKNOWN UNKNOWN);
        READS("\xed\xa0\x80", true, UNKNOWN UNKNOWN UNKNOWN);
        READS("\xc3\xa9\xe2\x82", true, "\xc3\xa9" UNKNOWN UNKNOWN);
}

TEST(a_number_too_large_is_the_largest)
{
        static const char text[] =
                "{\"a\":123456789012345678901234567890,\"b\":-99999999999999999999,"
                "\"c\":1e999,\"d\":7,\"e\":\"99999999999999999999\",\"f\":-2.5}";
        bool is_tamed;
        json_t *root = kube_object_load(text, sizeof text - 1, &is_tamed, NULL);

        assert_non_null(root);
        CHECK(is_tamed);
        CHECK(json_integer_value(json_object_get(root, "a")) == INT64_MAX);
        CHECK(json_integer_value(json_object_get(root, "b")) == -INT64_MAX);
        CHECK(json_real_value(json_object_get(root, "c")) == 1e308);
        CHECK_EQ(json_integer_value(json_object_get(root, "d")), 7);
        CHECK_STR(json_string_value(json_object_get(root, "e")), "99999999999999999999");
        CHECK(json_real_value(json_object_get(root, "f")) == -2.5);
        json_decref(root);
}

TEST(what_cannot_be_read_says_why)
{
        bool is_tamed;
        struct err e = { 0 };
        char deep[8001];

        memset(deep, '[', 4000);
        memset(deep + 4000, ']', 4000);
        deep[8000] = '\0';
        CHECK(!kube_object_load(deep, 8000, &is_tamed, &e));
        CHECK_STR(e.text, "it is nested too deeply");
        CHECK(!kube_object_load("{nonsense}", 10, &is_tamed, &e));
        CHECK_STR(e.text, "it is not JSON");
        CHECK(!kube_object_load("", 0, &is_tamed, &e));
}

static struct kube_glimpse glimpse(const char *text, bool is_event)
{
        struct kube_glimpse seen;

        kube_object_glimpse(text, strlen(text), is_event, &seen);
        return seen;
}

TEST(one_that_cannot_be_read_is_seen)
{
        struct kube_glimpse seen = glimpse(
                "{\"spec\":{nonsense},\"metadata\":{\"labels\":{\"name\":\"no\"},\"name\":\"a\","
                "\"namespace\":\"d\",\"uid\":\"u\",\"resourceVersion\":\"7\"},\"status\":",
                false);

        CHECK_STR(seen.name, "a");
        CHECK_STR(seen.namespace_name, "d");
        CHECK_STR(seen.uid, "u");
        CHECK_STR(seen.version, "7");
        seen = glimpse(
                "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"b\\u0000\n\",\"x\":[",
                true);
        CHECK_STR(seen.type, "DELETED");
        CHECK_STR(seen.name, "b\\u0000?");
        CHECK_STR(seen.version, "");
}

TEST(nothing_is_seen_where_there_is_nothing)
{
        static const char *const texts[] = {
                "",
                "{",
                "[]",
                "{\"metadata\"",
                "{\"metadata\":",
                "{\"metadata\":{\"name\":",
                "\"",
                "{\"metadata\":{\"name\":\"a",
                "{\"metadata\":{\"name\":5}}",
                "{\"metadata\":[]}",
                "{\"type\":{},\"object\":",
                "{\"object\":null}",
                "{\"a\":1,,}",
        };

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                for (int is_event = 0; is_event < 2; is_event++)
                        CHECK_STR(glimpse(texts[i], is_event).name, "");
}

int main(void)
{
        return RUN(CASE(values_that_json_cannot_hold_are_read_as_unknown),
                   CASE(a_number_too_large_is_the_largest), CASE(what_cannot_be_read_says_why),
                   CASE(one_that_cannot_be_read_is_seen),
                   CASE(nothing_is_seen_where_there_is_nothing));
}
