/* SPDX-License-Identifier: Apache-2.0 */
/* A scanner that knows strings and brackets, and nothing else of JSON: what it cuts out is parsed by
 * somebody who knows the rest. */
#include "json_stream.h"

#include <errno.h>
#include <string.h>

enum { LIMITS_MOST = 8 }; /* times its limit a value may be long, to be passed over */

static const char items_key[] = "items";

/* A value is what lies deeper than this. */
static unsigned value_depth(const struct json_stream *stream)
{
        return stream->is_list ? 2 : 0;
}

static bool is_space(char byte)
{
        return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* What is around the items has no end that could be waited for. */
static int append(struct json_stream *stream, struct str *to, const char *bytes, size_t count)
{
        const size_t space = stream->limit_bytes - to->length;

        if (count <= space)
                return str_append_bytes(to, bytes, count);
        stream->dropped_bytes += count - space;
        stream->is_cut = true;
        if (to != &stream->value || stream->dropped_bytes > stream->limit_bytes * LIMITS_MOST)
                return -EMSGSIZE;
        return str_append_bytes(to, bytes, space);
}

/* A byte of a string. Outside of values, keys are compared with "items". */
static void scan_string(struct json_stream *stream, char byte)
{
        if (stream->is_escaped) {
                stream->is_escaped = false;
                stream->key_match = sizeof items_key;
        } else if (byte == '\\') {
                stream->is_escaped = true;
        } else if (byte == '"') {
                stream->in_string = false;
                stream->is_items_key =
                        stream->depth == 1 && stream->key_match == sizeof items_key - 1;
        } else if (stream->key_match < sizeof items_key - 1 &&
                   byte == items_key[stream->key_match]) {
                stream->key_match++;
        } else {
                stream->key_match = sizeof items_key;
        }
}

static int scan_plain(struct json_stream *stream, char byte)
{
        switch (byte) {
        case '"':
                stream->in_string = true;
                stream->key_match = 0;
                return 0;
        case '{':
        case '[':
                if (stream->depth == 1 && byte == '[' && stream->is_list && stream->is_items_key)
                        stream->in_items = true;
                stream->is_items_key = false;
                stream->depth++;
                return 0;
        case '}':
        case ']':
                if (stream->depth == 0)
                        return -EPROTO;
                if (--stream->depth == 1)
                        stream->in_items = false;
                return 0;
        case ',':
                stream->is_items_key = false;
                return 0;
        default:
                return 0;
        }
}

/* Where a byte belongs, by what it is and what surrounds it. */
static struct str *target_of(struct json_stream *stream, char byte, unsigned depth_before)
{
        const bool is_value =
                (stream->in_items || !stream->is_list) &&
                (depth_before > value_depth(stream) || stream->depth > value_depth(stream));

        if (is_value)
                return &stream->value;
        if (stream->is_list && !(stream->in_items && (byte == ',' || is_space(byte))))
                return &stream->envelope;
        return NULL;
}

/* Takes one byte; 1: a value is whole. */
static int take_byte(struct json_stream *stream, char byte)
{
        const unsigned before = stream->depth;
        const bool was_value = stream->value.length > 0;
        struct str *to;
        int r = 0;

        if (stream->in_string)
                scan_string(stream, byte);
        else
                r = scan_plain(stream, byte);
        if (r < 0)
                return r;
        to = target_of(stream, byte, before);
        if (!to)
                return stream->is_list || is_space(byte) ? 0 : -EPROTO;
        if (to == &stream->envelope && stream->in_items && before == 2)
                return -EPROTO; /* an item that is no object */
        r = append(stream, to, &byte, 1);
        if (r < 0)
                return r;
        return to == &stream->value && was_value && stream->depth == value_depth(stream);
}

/* How many bytes go to the value that has begun, up to its end: most of all are passed here. *ret_whole:
 * it ends with them. */
static size_t run_of_value(struct json_stream *stream, const char *bytes, size_t count,
                           bool *ret_whole)
{
        const unsigned outside = value_depth(stream);
        size_t at = 0;

        *ret_whole = false;
        if (stream->value.length == 0 || stream->depth <= outside)
                return 0;
        for (; at < count; at++) {
                const char byte = bytes[at];

                if (stream->is_escaped) {
                        stream->is_escaped = false;
                } else if (stream->in_string) {
                        stream->is_escaped = byte == '\\';
                        stream->in_string = byte != '"';
                } else if (byte == '"') {
                        stream->in_string = true;
                } else if (byte == '{' || byte == '[') {
                        stream->depth++;
                } else if (byte == '}' || byte == ']') {
                        *ret_whole = --stream->depth == outside;
                        if (*ret_whole)
                                return at + 1;
                }
        }
        return at;
}

int json_stream_take(struct json_stream *stream, const void *bytes, size_t count,
                     int (*on_value)(void *owner, const char *text, size_t count), void *owner)
{
        const char *at = bytes;
        const char *const end = at + count;

        while (at < end) {
                bool is_whole;
                const size_t run = run_of_value(stream, at, (size_t)(end - at), &is_whole);
                int r;

                if (run) {
                        r = append(stream, &stream->value, at, run);
                        at += run;
                        if (r == 0)
                                r = is_whole;
                } else {
                        r = take_byte(stream, *at++);
                }
                if (r == 1) {
                        r = on_value(owner, stream->value.text, stream->value.length);
                        stream->value.length = stream->dropped_bytes = 0;
                        stream->is_cut = false;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

bool json_stream_is_whole(const struct json_stream *stream)
{
        return stream->depth == 0 && !stream->in_string && stream->value.length == 0;
}

void json_stream_done(struct json_stream *stream)
{
        const struct json_stream again = { .is_list = stream->is_list,
                                           .limit_bytes = stream->limit_bytes };

        str_done(&stream->value);
        str_done(&stream->envelope);
        *stream = again;
}
