/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of json_stream: values come out whole, however the bytes come in. */
#include "json_stream.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static int on_value(void *owner, const char *text, size_t count)
{
        struct str *all = owner;

        CHECK_EQ(strlen(text), count);
        str_append(all, text);
        return str_append(all, "|");
}

/* The values, each followed by "|"; r is what the stream returned. */
static int read_all(struct json_stream *stream, const char *text, size_t step, struct str *all)
{
        const size_t length = strlen(text);
        int r = 0;

        for (size_t at = 0; at < length && r == 0; at += step)
                r = json_stream_take(stream, text + at, step < length - at ? step : length - at,
                                     on_value, all);
        return r;
}

TEST(documents_follow_each_other)
{
        static const char text[] = "{\"a\":\"}\\\"{\"}\n {\"b\":[1,{}]}\n{}";

        for (size_t step = 1; step < sizeof text; step++) {
                struct json_stream stream = { .limit_bytes = 100 };
                struct str all = { 0 };

                CHECK_EQ(read_all(&stream, text, step, &all), 0);
                CHECK_STR(all.text, "{\"a\":\"}\\\"{\"}|{\"b\":[1,{}]}|{}|");
                CHECK(json_stream_is_whole(&stream));
                json_stream_done(&stream);
                str_done(&all);
        }
}

TEST(a_list_yields_its_items_and_keeps_its_envelope)
{
        static const char text[] =
                "{\"kind\":\"items\",\"metadata\":{\"items\":[{}],\"n\":\"1\"},"
                "\"items\":[ {\"a\":{\"items\":[1]}} ,\n{\"b\":\"]\"}],\"z\":[2]}";

        for (size_t step = 1; step < sizeof text; step++) {
                struct json_stream stream = { .is_list = true, .limit_bytes = 200 };
                struct str all = { 0 };

                CHECK_EQ(read_all(&stream, text, step, &all), 0);
                CHECK_STR(all.text, "{\"a\":{\"items\":[1]}}|{\"b\":\"]\"}|");
                CHECK_STR(stream.envelope.text, "{\"kind\":\"items\",\"metadata\":{\"items\":[{}],"
                                                "\"n\":\"1\"},\"items\":[],\"z\":[2]}");
                CHECK(json_stream_is_whole(&stream));
                json_stream_done(&stream);
                CHECK(stream.is_list);
                str_done(&all);
        }
}

TEST(what_is_too_long_or_no_such_json_is_refused)
{
        static const struct {
                bool is_list;
                int r;
                const char *text;
        } rows[] = {
                { false, -EPROTO, "}" },
                { false, -EPROTO, "1" },
                { false, -EPROTO, "{},{}" },
                { true, -EPROTO, "{\"items\":[1]}" },
                { true, -EPROTO, "{\"items\":[\"x\"]}" },
                { true, -EMSGSIZE, "{\"kind\":\"01234567890123456789012345678901234567890\"}" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct json_stream stream = { .is_list = rows[i].is_list, .limit_bytes = 40 };
                struct str all = { 0 };

                CHECK_EQ(read_all(&stream, rows[i].text, 100, &all), rows[i].r);
                json_stream_done(&stream);
                str_done(&all);
        }
}

/* How it was told: what there is of it, and ! if that is not all. */
static int on_cut(void *owner, const char *text, size_t count)
{
        struct json_stream *stream = owner;

        CHECK_EQ(strlen(text), count);
        return str_appendf(&stream->envelope, "%s%s|", text, stream->is_cut ? "!" : "");
}

TEST(one_that_is_too_long_is_passed_over_alone)
{
        static const char text[] = "{\"a\":1}{\"b\":\"0123}{[\\\"456789\",\"c\":{}}{\"d\":2}";

        for (size_t step = 1; step < sizeof text; step++) {
                struct json_stream stream = { .limit_bytes = 10 };

                for (size_t at = 0; at < sizeof text - 1; at += step)
                        CHECK_EQ(json_stream_take(
                                         &stream, text + at,
                                         step < sizeof text - 1 - at ? step : sizeof text - 1 - at,
                                         on_cut, &stream),
                                 0);
                CHECK_STR(stream.envelope.text, "{\"a\":1}|{\"b\":\"0123!|{\"d\":2}|");
                json_stream_done(&stream);
        }
}

TEST(one_that_has_no_end_in_sight_is_not_waited_for)
{
        struct json_stream stream = { .limit_bytes = 10 };
        struct str all = { 0 };
        int r = 0;

        for (int i = 0; i < 100 && r == 0; i++)
                r = json_stream_take(&stream, "[", 1, on_value, &all);
        CHECK_EQ(r, -EMSGSIZE);
        json_stream_done(&stream);
}

TEST(truncated_json_is_not_complete)
{
        static const char *const rows[] = { "{", "{\"a", "{\"items\":[{}]", "{\"items\":[{" };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct json_stream stream = { .is_list = true, .limit_bytes = 40 };
                struct str all = { 0 };

                CHECK_EQ(read_all(&stream, rows[i], 100, &all), 0);
                CHECK(!json_stream_is_whole(&stream));
                json_stream_done(&stream);
                str_done(&all);
        }
}

int main(void)
{
        return RUN(CASE(documents_follow_each_other),
                   CASE(a_list_yields_its_items_and_keeps_its_envelope),
                   CASE(what_is_too_long_or_no_such_json_is_refused),
                   CASE(one_that_is_too_long_is_passed_over_alone),
                   CASE(one_that_has_no_end_in_sight_is_not_waited_for),
                   CASE(truncated_json_is_not_complete));
}
