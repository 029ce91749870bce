/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC over HTTP/2: frames, statuses, timeouts. */
#include "grpc_wire.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { FRAME_HEAD_BYTES = 5 };

static const char *const status_names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
};
enum { STATUSES = sizeof status_names / sizeof *status_names };

const char *grpc_status_name(enum grpc_status status)
{
        return status_names[(unsigned)status < STATUSES ? status : GRPC_UNKNOWN];
}

enum grpc_status grpc_status_parse(const char *text)
{
        uint64_t number;

        if (str_parse_u64(text, &number) < 0 || number >= STATUSES)
                return GRPC_UNKNOWN;
        return (enum grpc_status)number;
}

enum grpc_status grpc_status_of_http(int http_status)
{
        switch (http_status) {
        case 400:
                return GRPC_INTERNAL;
        case 401:
                return GRPC_UNAUTHENTICATED;
        case 403:
                return GRPC_PERMISSION_DENIED;
        case 404:
                return GRPC_UNIMPLEMENTED;
        case 429:
        case 502:
        case 503:
        case 504:
                return GRPC_UNAVAILABLE;
        default:
                return GRPC_UNKNOWN;
        }
}

int grpc_frame_begin(struct str *to)
{
        return str_append_bytes(to, "\0\0\0\0", FRAME_HEAD_BYTES);
}

void grpc_frame_end(struct str *to, size_t at)
{
        const size_t count = to->length - at - FRAME_HEAD_BYTES;

        for (unsigned i = 0; i < 4; i++)
                to->text[at + 1 + i] = (char)(count >> (24 - 8 * i));
}

/* The length that a frame's head announces. */
static int head_parse(const char *head, size_t *ret_count)
{
        const uint8_t *bytes = (const uint8_t *)head;

        if (bytes[0] > 1)
                return -EBADMSG;
        if (bytes[0] == 1)
                return -ENOTSUP;
        *ret_count =
                (size_t)bytes[1] << 24 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 8 | bytes[4];
        return 0;
}

int grpc_frame_only(const char *bytes, size_t count, const char **ret_message, size_t *ret_count)
{
        size_t length;
        int r;

        if (count < FRAME_HEAD_BYTES)
                return -EBADMSG;
        r = head_parse(bytes, &length);
        if (r < 0)
                return r;
        if (length != count - FRAME_HEAD_BYTES)
                return -EBADMSG;
        *ret_message = bytes + FRAME_HEAD_BYTES;
        *ret_count = length;
        return 0;
}

/* Takes what the current frame lacks; how much that was, or < 0. */
static ssize_t take_part(struct grpc_reader *reader, const char *bytes, size_t count)
{
        size_t length = 0;
        size_t lacks;
        int r;

        if (reader->bytes.length >= FRAME_HEAD_BYTES) {
                r = head_parse(reader->bytes.text, &length);
                if (r < 0)
                        return r;
                if (length > reader->limit_bytes)
                        return -EMSGSIZE;
        }
        lacks = FRAME_HEAD_BYTES + length - reader->bytes.length;
        if (count > lacks)
                count = lacks;
        r = str_append_bytes(&reader->bytes, bytes, count);
        return r < 0 ? r : (ssize_t)count;
}

static bool is_whole(const struct grpc_reader *reader)
{
        size_t length;

        return reader->bytes.length >= FRAME_HEAD_BYTES &&
               head_parse(reader->bytes.text, &length) == 0 &&
               reader->bytes.length == FRAME_HEAD_BYTES + length;
}

int grpc_reader_take(struct grpc_reader *reader, const void *bytes, size_t count,
                     int (*on_message)(void *owner, const void *message, size_t count), void *owner)
{
        const char *at = bytes;
        int r = 0;

        while (count && r == 0) {
                ssize_t taken = take_part(reader, at, count);

                if (taken < 0)
                        return (int)taken;
                at += taken;
                count -= (size_t)taken;
                if (is_whole(reader)) {
                        r = on_message(owner, reader->bytes.text + FRAME_HEAD_BYTES,
                                       reader->bytes.length - FRAME_HEAD_BYTES);
                        str_done(&reader->bytes); /* the next may be small, or never come */
                }
        }
        return r;
}

void grpc_reader_done(struct grpc_reader *reader)
{
        str_done(&reader->bytes);
}

int grpc_message_encode(const char *text, struct str *to)
{
        int r = 0;

        for (const uint8_t *at = (const uint8_t *)text; *at && r == 0; at++) {
                if (*at >= ' ' && *at <= '~' && *at != '%')
                        r = str_append_bytes(to, (const char *)at, 1);
                else
                        r = str_appendf(to, "%%%02X", *at);
        }
        return r;
}

void grpc_message_decode(char *text)
{
        char *to = text;

        for (const char *at = text; *at; at++) {
                const char digits[3] = { at[0] == '%' ? at[1] : '\0', at[1] ? at[2] : '\0', '\0' };

                if (isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1])) {
                        const char byte = (char)strtoul(digits, NULL, 16);

                        *to++ = byte ? byte : '?';
                        at += 2;
                } else {
                        *to++ = *at;
                }
        }
        *to = '\0';
}

int grpc_timeout_parse(const char *text, uint64_t *ret_ns)
{
        static const struct {
                char unit;
                uint64_t ns;
        } units[] = { { 'H', 3600 * NS_PER_S }, { 'M', 60 * NS_PER_S }, { 'S', NS_PER_S },
                      { 'm', NS_PER_MS },       { 'u', NS_PER_US },     { 'n', 1 } };
        const size_t length = strlen(text);
        uint64_t number = 0;

        if (length < 2 || length > 9) /* eight digits at most */
                return -EINVAL;
        for (size_t i = 0; i < length - 1; i++) {
                if (!isdigit((unsigned char)text[i]))
                        return -EINVAL;
                number = number * 10 + (uint64_t)(text[i] - '0');
        }
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
                if (units[i].unit == text[length - 1]) {
                        *ret_ns = number * units[i].ns;
                        return 0;
                }
        return -EINVAL;
}

void grpc_timeout_format(uint64_t timeout_ms, char text[static 16])
{
        if (timeout_ms < 100000000)
                snprintf(text, 16, "%" PRIu64 "m", timeout_ms);
        else
                snprintf(text, 16, "%" PRIu64 "S", timeout_ms / 1000 % 100000000);
}
