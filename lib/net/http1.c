/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1: the head of a request, and chunked bodies. */
#include "http1.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

enum {
        LINE_MOST = 256, /* of a chunk's size, its extension, or a trailer */
};

size_t http1_head_length(const char *bytes, size_t count)
{
        const char *end = memmem(bytes, count, "\r\n\r\n", 4);

        return end ? (size_t)(end - bytes) + 4 : 0;
}

static bool is_token(const char *bytes, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (!isalnum((unsigned char)bytes[i]) && !strchr("!#$%&'*+-.^_`|~", bytes[i]))
                        return false;
        return count > 0 && !memchr(bytes, '\0', count);
}

static bool is_word(const char *bytes, size_t count, const char *word)
{
        return count == strlen(word) && strncasecmp(bytes, word, count) == 0;
}

static int status_of(int r)
{
        return r == 0 ? 0 : r == -EMSGSIZE ? 431 : r == -ENOMEM ? 503 : 400;
}

/* METHOD SP TARGET SP HTTP/1.x */
static int parse_first_line(const char *line, size_t length, struct fields *fields,
                            struct http1_head *head)
{
        const char *target = memchr(line, ' ', length);
        const char *version;
        size_t method_length, target_length;
        int r;

        if (!target)
                return 400;
        method_length = (size_t)(target - line);
        target++;
        version = memchr(target, ' ', length - method_length - 1);
        if (!version || !is_token(line, method_length))
                return 400;
        target_length = (size_t)(version - target);
        version++;
        if (line + length - version != 8 || strncmp(version, "HTTP/", 5) != 0)
                return 400;
        if (version[5] != '1' || version[6] != '.')
                return 505;
        head->is_last = version[7] == '0';
        r = fields_add(fields, ":method", 7, line, method_length);
        if (r == 0)
                r = fields_add(fields, ":path", 5, target, target_length);
        return status_of(r);
}

static int parse_length(const char *value, size_t count, struct http1_head *head)
{
        uint64_t bytes = 0;

        if (count == 0 || count > 18)
                return 400;
        for (size_t i = 0; i < count; i++) {
                if (!isdigit((unsigned char)value[i]))
                        return 400;
                bytes = bytes * 10 + (uint64_t)(value[i] - '0');
        }
        head->body_bytes = bytes;
        return 0;
}

/* What the fields say about the message itself. Said twice is refused: readers might differ. */
static int note_field(const char *name, size_t name_length, const char *value, size_t count,
                      bool *has_length, struct http1_head *head)
{
        if (is_word(name, name_length, "content-length")) {
                if (*has_length)
                        return 400;
                *has_length = true;
                return parse_length(value, count, head);
        }
        if (is_word(name, name_length, "transfer-encoding")) {
                if (head->is_chunked)
                        return 400;
                head->is_chunked = true;
                return is_word(value, count, "chunked") ? 0 : 501;
        }
        if (is_word(name, name_length, "connection") && is_word(value, count, "close"))
                head->is_last = true;
        if (is_word(name, name_length, "expect") && is_word(value, count, "100-continue"))
                head->wants_continue = true;
        return 0;
}

static int parse_field(const char *line, size_t length, struct fields *fields, bool *has_length,
                       struct http1_head *head)
{
        const char *colon = memchr(line, ':', length);
        size_t name_length = colon ? (size_t)(colon - line) : 0;
        const char *value = colon + 1;
        size_t count = length - name_length - 1;
        int r;

        if (!colon || !is_token(line, name_length))
                return 400; /* folded lines too */
        for (; count && (*value == ' ' || *value == '\t'); value++)
                count--;
        while (count && (value[count - 1] == ' ' || value[count - 1] == '\t'))
                count--;
        r = note_field(line, name_length, value, count, has_length, head);
        if (r)
                return r;
        if (is_word(line, name_length, "host"))
                return status_of(fields_add(fields, ":authority", 10, value, count));
        return status_of(fields_add(fields, line, name_length, value, count));
}

int http1_parse_head(const char *bytes, size_t count, struct fields *fields,
                     struct http1_head *ret_head)
{
        struct http1_head head = { 0 };
        const char *const end = bytes + count - 2; /* before the empty line */
        bool is_first = true, has_length = false;

        for (const char *line = bytes, *stop; line < end; line = stop + 2) {
                int r;

                stop = memmem(line, (size_t)(end - line), "\r\n", 2);
                if (!stop)
                        return 400;
                r = is_first ? parse_first_line(line, (size_t)(stop - line), fields, &head)
                             : parse_field(line, (size_t)(stop - line), fields, &has_length, &head);
                if (r)
                        return r;
                is_first = false;
        }
        if (is_first || (head.is_chunked && has_length))
                return 400;
        *ret_head = head;
        return 0;
}

/* One byte of a chunk's size line: hex digits, perhaps an extension, CR LF. */
static int take_size(struct http1_chunks *chunks, char byte)
{
        static const char digits[] = "0123456789abcdef";
        const char *digit;

        if (++chunks->line_length > LINE_MOST)
                return -EPROTO;
        if (byte == '\n') {
                if (!chunks->has_digit)
                        return -EPROTO;
                chunks->state = chunks->left ? CHUNK_DATA : CHUNK_TRAILER;
                chunks->line_length = 0;
                chunks->has_digit = chunks->is_extension = false;
                return 0;
        }
        if (byte == ';' || byte == '\r')
                chunks->is_extension = true;
        if (chunks->is_extension)
                return 0;
        digit = byte ? strchr(digits, tolower((unsigned char)byte)) : NULL;
        if (!digit || chunks->left >> 56)
                return -EPROTO;
        chunks->left = chunks->left << 4 | (uint64_t)(digit - digits);
        chunks->has_digit = true;
        return 0;
}

/* Trailers are read over; an empty line ends them. */
static int take_trailer(struct http1_chunks *chunks, char byte)
{
        if (byte == '\n') {
                if (chunks->line_length == 0)
                        chunks->state = CHUNK_END;
                chunks->line_length = 0;
        } else if (byte != '\r' && ++chunks->line_length > LINE_MOST) {
                return -EPROTO;
        }
        return 0;
}

static int take_byte(struct http1_chunks *chunks, char byte)
{
        if (chunks->state == CHUNK_SIZE)
                return take_size(chunks, byte);
        if (chunks->state == CHUNK_TRAILER)
                return take_trailer(chunks, byte);
        if (byte == '\n') /* after the data */
                chunks->state = CHUNK_SIZE;
        return byte == '\r' || byte == '\n' ? 0 : -EPROTO;
}

ssize_t http1_chunks_take(struct http1_chunks *chunks, const char *bytes, size_t count,
                          const char **ret_piece, size_t *ret_piece_count)
{
        size_t taken = 0;

        *ret_piece_count = 0;
        while (taken < count && chunks->state != CHUNK_END) {
                int r;

                if (chunks->state == CHUNK_DATA) {
                        size_t piece =
                                count - taken < chunks->left ? count - taken : (size_t)chunks->left;

                        *ret_piece = bytes + taken;
                        *ret_piece_count = piece;
                        chunks->left -= piece;
                        if (chunks->left == 0)
                                chunks->state = CHUNK_DATA_END;
                        return (ssize_t)(taken + piece);
                }
                r = take_byte(chunks, bytes[taken++]);
                if (r < 0)
                        return r;
        }
        return (ssize_t)taken;
}
