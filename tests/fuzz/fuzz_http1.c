/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the head of an HTTP/1.1 request, then a chunked body. Pieces of any size give the same
 * body as all at once. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "http1.h"

const char *const fuzz_words[] = {
        "\r\n\r\n", "GET / HTTP/1.1\r\n", "Content-Length: ", "Transfer-Encoding:",
        "chunked",  "0\r\n\r\n",          "ff;x=y\r\n",       "Connection: close",
        NULL
};

/* The body, up to `step` bytes at a time; its length, or -1. */
static ssize_t read_body(const char *bytes, size_t count, size_t step, char *body)
{
        struct http1_chunks chunks = { 0 };
        size_t at = 0, length = 0;

        while (at < count && chunks.state != CHUNK_END) {
                const char *piece = NULL;
                size_t piece_count, ask = step < count - at ? step : count - at;
                ssize_t taken = http1_chunks_take(&chunks, bytes + at, ask, &piece, &piece_count);

                if (taken < 0)
                        return -1;
                if ((size_t)taken > ask || piece_count > (size_t)taken)
                        abort();
                if (piece_count)
                        memcpy(body + length, piece, piece_count);
                length += piece_count;
                at += (size_t)taken;
        }
        return (ssize_t)length;
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        const char *text = (const char *)bytes;
        size_t head_length = http1_head_length(text, count);
        struct fields fields = { 0 };
        struct http1_head head;
        char *one = malloc(count + 1), *other = malloc(count + 1);
        ssize_t one_length, other_length;

        if (head_length > count)
                abort();
        if (head_length && http1_parse_head(text, head_length, &fields, &head) == 0 &&
            (!fields_get(&fields, ":method") || !fields_get(&fields, ":path")))
                abort();
        one_length = read_body(text + head_length, count - head_length, count + 1, one);
        other_length = read_body(text + head_length, count - head_length, 1, other);
        if (one_length != other_length ||
            (one_length > 0 && memcmp(one, other, (size_t)one_length) != 0))
                abort();
        free(one);
        free(other);
        fields_done(&fields);
}
