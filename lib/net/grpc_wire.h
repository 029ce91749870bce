/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_wire: what gRPC adds to HTTP/2, as pure functions: frames, statuses, timeouts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

enum grpc_status {
        GRPC_OK = 0,
        GRPC_CANCELLED = 1,
        GRPC_UNKNOWN = 2,
        GRPC_INVALID_ARGUMENT = 3,
        GRPC_DEADLINE_EXCEEDED = 4,
        GRPC_NOT_FOUND = 5,
        GRPC_ALREADY_EXISTS = 6,
        GRPC_PERMISSION_DENIED = 7,
        GRPC_RESOURCE_EXHAUSTED = 8,
        GRPC_FAILED_PRECONDITION = 9,
        GRPC_ABORTED = 10,
        GRPC_OUT_OF_RANGE = 11,
        GRPC_UNIMPLEMENTED = 12,
        GRPC_INTERNAL = 13,
        GRPC_UNAVAILABLE = 14,
        GRPC_DATA_LOSS = 15,
        GRPC_UNAUTHENTICATED = 16,
};

/* "DEADLINE_EXCEEDED"; "UNKNOWN" for a number that is none. */
const char *grpc_status_name(enum grpc_status status);
/* The text of grpc-status. Anything that is no status: GRPC_UNKNOWN. */
enum grpc_status grpc_status_parse(const char *text);
/* What an HTTP status says where no gRPC status came. */
enum grpc_status grpc_status_of_http(int http_status);

/* A frame is a flag, four bytes of length, and the message. Space for the length is kept by the first,
 * filled in by the second; `at` is where the frame begins. */
int grpc_frame_begin(struct str *to);
void grpc_frame_end(struct str *to, size_t at);

/* The only message of a request. -EBADMSG: not exactly one frame; -ENOTSUP: compressed. */
int grpc_frame_only(const char *bytes, size_t count, const char **ret_message, size_t *ret_count);

/* Messages out of bytes that come in pieces. Zeroed, with the limit. */
struct grpc_reader {
        size_t limit_bytes; /* of one message */
        struct str bytes;   /* of the frame that is not all there */
};

/* Calls on_message for each. < 0: -EMSGSIZE, -ENOTSUP, -ENOMEM, or what on_message returned. */
int grpc_reader_take(struct grpc_reader *reader, const void *bytes, size_t count,
                     int (*on_message)(void *owner, const void *message, size_t count),
                     void *owner);
void grpc_reader_done(struct grpc_reader *reader);

/* grpc-message: percent-encoded, so that a sentence may contain anything. */
int grpc_message_encode(const char *text, struct str *to);
/* In place; what is no encoding stays as it is. */
void grpc_message_decode(char *text);

/* grpc-timeout "10S", "250m", "1H" in nanoseconds. -EINVAL: not a timeout. */
int grpc_timeout_parse(const char *text, uint64_t *ret_ns);
void grpc_timeout_format(uint64_t timeout_ms, char text[static 16]);
