/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of grpc_wire: frames in pieces, statuses, timeouts, sentences. */
#include "grpc_wire.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

struct heard {
        char texts[8][32];
        unsigned count;
};

static int on_message(void *owner, const void *message, size_t count)
{
        struct heard *heard = owner;

        CHECK(heard->count < 8 && count < 32);
        memcpy(heard->texts[heard->count], message, count);
        heard->texts[heard->count++][count] = '\0';
        return 0;
}

TEST(messages_come_out_whole_whatever_the_pieces)
{
        static const char bytes[] = "\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\1z";

        for (size_t piece = 1; piece < sizeof bytes; piece++) {
                struct grpc_reader reader = { .limit_bytes = 16 };
                struct heard heard = { 0 };

                for (size_t at = 0; at < sizeof bytes - 1; at += piece) {
                        size_t left = sizeof bytes - 1 - at;

                        CHECK_EQ(grpc_reader_take(&reader, bytes + at, left < piece ? left : piece,
                                                  on_message, &heard),
                                 0);
                }
                CHECK_EQ(heard.count, 3);
                CHECK_STR(heard.texts[0], "abc");
                CHECK_STR(heard.texts[1], "");
                CHECK_STR(heard.texts[2], "z");
                grpc_reader_done(&reader);
        }
}

TEST(a_message_over_the_limit_is_refused_before_it_comes)
{
        struct grpc_reader reader = { .limit_bytes = 16 };
        struct heard heard = { 0 };

        CHECK_EQ(grpc_reader_take(&reader, "\0\0\0\0\21x", 6, on_message, &heard), -EMSGSIZE);
        grpc_reader_done(&reader);
        CHECK_EQ(grpc_reader_take(&reader, "\1\0\0\0\1x", 6, on_message, &heard), -ENOTSUP);
        grpc_reader_done(&reader);
}

TEST(a_request_is_exactly_one_frame)
{
        const char *message = NULL;
        size_t count = 0;

        CHECK_EQ(grpc_frame_only("\0\0\0\0\2hi", 7, &message, &count), 0);
        CHECK_EQ(count, 2);
        CHECK_EQ(grpc_frame_only("\0\0\0\0\2h", 6, &message, &count), -EBADMSG);
        CHECK_EQ(grpc_frame_only("\0\0\0\0\2hix", 8, &message, &count), -EBADMSG);
        CHECK_EQ(grpc_frame_only("\0\0", 2, &message, &count), -EBADMSG);
        CHECK_EQ(grpc_frame_only("\1\0\0\0\2hi", 7, &message, &count), -ENOTSUP);
}

TEST(a_frame_is_read_as_it_was_written)
{
        struct str frame = { 0 };
        const char *message = NULL;
        size_t count = 0;

        CHECK_EQ(grpc_frame_begin(&frame), 0);
        for (unsigned i = 0; i < 70000; i++)
                str_append_bytes(&frame, "x", 1);
        grpc_frame_end(&frame, 0);
        CHECK_EQ(grpc_frame_only(frame.text, frame.length, &message, &count), 0);
        CHECK_EQ(count, 70000);
        str_done(&frame);
}

TEST(a_sentence_survives_its_encoding)
{
        char text[] = "50% über \"x\"\n\t~ ";
        struct str encoded = { 0 };

        CHECK_EQ(grpc_message_encode(text, &encoded), 0);
        CHECK_STR(encoded.text, "50%25 %C3%BCber \"x\"%0A%09~ ");
        grpc_message_decode(encoded.text);
        CHECK_STR(encoded.text, text);
        str_done(&encoded);
}

TEST(what_is_no_encoding_stays)
{
        char odd[] = "100% 5%z %a", cut[] = "%4", zero[] = "a%00b";

        grpc_message_decode(odd);
        CHECK_STR(odd, "100% 5%z %a");
        grpc_message_decode(cut);
        CHECK_STR(cut, "%4");
        grpc_message_decode(zero);
        CHECK_STR(zero, "a?b");
}

TEST(timeouts_have_units)
{
        static const struct {
                const char *text;
                int result;
                uint64_t ns;
        } rows[] = {
                { "10S", 0, 10000000000 },
                { "250m", 0, 250000000 },
                { "1H", 0, 3600000000000 },
                { "2M", 0, 120000000000 },
                { "7u", 0, 7000 },
                { "9n", 0, 9 },
                { "99999999H", 0, 99999999ull * 3600000000000ull },
                { "", -EINVAL, 0 },
                { "S", -EINVAL, 0 },
                { "10", -EINVAL, 0 },
                { "10s", -EINVAL, 0 },
                { "-1S", -EINVAL, 0 },
                { "123456789S", -EINVAL, 0 },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                uint64_t ns = 0;

                CHECK_EQ(grpc_timeout_parse(rows[i].text, &ns), rows[i].result);
                CHECK(ns == rows[i].ns);
        }
}

TEST(a_status_that_is_none_is_unknown)
{
        CHECK_EQ(grpc_status_parse("0"), GRPC_OK);
        CHECK_EQ(grpc_status_parse("16"), GRPC_UNAUTHENTICATED);
        CHECK_EQ(grpc_status_parse("17"), GRPC_UNKNOWN);
        CHECK_EQ(grpc_status_parse("-1"), GRPC_UNKNOWN);
        CHECK_EQ(grpc_status_parse("x"), GRPC_UNKNOWN);
        CHECK_EQ(grpc_status_of_http(503), GRPC_UNAVAILABLE);
        CHECK_STR(grpc_status_name(GRPC_NOT_FOUND), "NOT_FOUND");
        CHECK_STR(grpc_status_name((enum grpc_status)99), "UNKNOWN");
}

int main(void)
{
        return RUN(CASE(messages_come_out_whole_whatever_the_pieces),
                   CASE(a_message_over_the_limit_is_refused_before_it_comes),
                   CASE(a_request_is_exactly_one_frame), CASE(a_frame_is_read_as_it_was_written),
                   CASE(a_sentence_survives_its_encoding), CASE(what_is_no_encoding_stays),
                   CASE(timeouts_have_units), CASE(a_status_that_is_none_is_unknown));
}
