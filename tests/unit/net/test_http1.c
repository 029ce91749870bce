/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of http1: what a request's head says, what it may not say, and bodies in chunks. */
#include "http1.h"

#include <string.h>

#include "unit.h"

static int parse(const char *text, struct fields *fields, struct http1_head *head)
{
        CHECK_EQ(http1_head_length(text, strlen(text)), strlen(text));
        return http1_parse_head(text, strlen(text), fields, head);
}

TEST(a_head_says_what_is_asked)
{
        struct fields fields = { 0 };
        struct http1_head head;

        CHECK_EQ(parse("POST /filter?timeout=5s HTTP/1.1\r\nHost: a:1\r\nContent-Length: 12\r\n"
                       "Content-Type:\t application/json \r\nExpect: 100-continue\r\n\r\n",
                       &fields, &head),
                 0);
        CHECK_STR(fields_get(&fields, ":method"), "POST");
        CHECK_STR(fields_get(&fields, ":path"), "/filter?timeout=5s");
        CHECK_STR(fields_get(&fields, ":authority"), "a:1");
        CHECK_STR(fields_get(&fields, "content-type"), "application/json");
        CHECK(!fields_get(&fields, "accept"));
        CHECK_EQ(head.body_bytes, 12);
        CHECK(head.wants_continue && !head.is_last && !head.is_chunked);
        fields_done(&fields);
}

TEST(a_connection_ends_when_it_is_said_or_old)
{
        struct fields fields = { 0 };
        struct http1_head head;

        CHECK_EQ(parse("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", &fields, &head), 0);
        CHECK(head.is_last);
        fields_done(&fields);
        CHECK_EQ(parse("GET / HTTP/1.0\r\n\r\n", &fields, &head), 0);
        CHECK(head.is_last);
        fields_done(&fields);
}

TEST(what_two_readers_could_read_differently_is_refused)
{
        static const struct {
                int status;
                const char *text;
        } rows[] = {
                { 400, "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n" },
                { 400,
                  "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" },
                { 400, "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n" },
                { 400, "POST / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n" },
                { 400, "POST / HTTP/1.1\r\nContent-Length:\r\n\r\n" },
                { 400, "POST / HTTP/1.1\r\nContent-Length: 1234567890123456789\r\n\r\n" },
                { 400, "POST / HTTP/1.1\r\nContent-Length : 1\r\n\r\n" },
                { 400, "GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n" },
                { 400, "GET / HTTP/1.1\r\nno colon\r\n\r\n" },
                { 400, "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n" },
                { 400, "GET /\r\n\r\n" },
                { 400, " / HTTP/1.1\r\n\r\n" },
                { 400, "GET / HTTP/1.1 \r\n\r\n" },
                { 400, "\r\n\r\n" },
                { 501, "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" },
                { 505, "GET / HTTP/2.0\r\n\r\n" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct fields fields = { 0 };
                struct http1_head head;

                CHECK_EQ(parse(rows[i].text, &fields, &head), rows[i].status);
                fields_done(&fields);
        }
}

/* Reads a chunked body, so many bytes at a time; "!" if it is malformed, "…" if it does not end. */
static void read_chunks(const char *text, size_t step, char *body)
{
        struct http1_chunks chunks = { 0 };
        const size_t length = strlen(text);
        size_t at = 0, count = 0;

        while (at < length && chunks.state != CHUNK_END) {
                const char *piece;
                size_t piece_count;
                ssize_t taken = http1_chunks_take(&chunks, text + at,
                                                  step < length - at ? step : length - at, &piece,
                                                  &piece_count);

                if (taken < 0) {
                        strcpy(body, "!");
                        return;
                }
                if (piece_count > 0) /* there is no piece otherwise */
                        memcpy(body + count, piece, piece_count);
                count += piece_count;
                at += (size_t)taken;
        }
        strcpy(body + count, chunks.state == CHUNK_END ? "" : "…");
}

TEST(chunks_make_the_body_whatever_the_pieces)
{
        static const char *const rows[][2] = {
                { "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", "abc0123456789" },
                { "0\r\n\r\n", "" },
                { "1\r\nx\r\n0\r\nTrailer: 1\r\n\r\n", "x" },
                { "2\r\nab", "ab…" },
                { "\r\nab", "!" },
                { "g\r\nab", "!" },
                { "2\r\nabX\r\n", "!" },
                { "fffffffffffffffff\r\n", "!" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                for (size_t step = 1; step < 40; step++) {
                        char body[64];

                        read_chunks(rows[i][0], step, body);
                        if (strcmp(rows[i][1], "!") == 0)
                                CHECK(strchr(body, '!'));
                        else
                                CHECK_STR(body, rows[i][1]);
                }
}

TEST(a_head_has_a_size)
{
        struct fields fields = { 0 };
        int r = 0;

        for (unsigned i = 0; r == 0 && i < 10000; i++)
                r = fields_add(&fields, "name", 4, "0123456789", 10);
        CHECK(r < 0);
        CHECK(fields.bytes.length <= FIELDS_BYTES);
        fields_done(&fields);
}

int main(void)
{
        return RUN(CASE(a_head_says_what_is_asked), CASE(a_connection_ends_when_it_is_said_or_old),
                   CASE(what_two_readers_could_read_differently_is_refused),
                   CASE(chunks_make_the_body_whatever_the_pieces), CASE(a_head_has_a_size));
}
