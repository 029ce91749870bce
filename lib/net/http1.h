/* SPDX-License-Identifier: Apache-2.0 */
/* http1: what HTTP/1.1 requests look like in bytes. Pure: no sockets. Strict where two readers could
 * disagree about where a request ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fields.h"

/* How much of the bytes is the head, its empty line included; 0: it is not all there yet. */
size_t http1_head_length(const char *bytes, size_t count);

struct http1_head {
        uint64_t body_bytes; /* announced; not if chunked */
        bool is_chunked;
        bool is_last;        /* the connection ends after it */
        bool wants_continue; /* waits for "100 Continue" before it sends the body */
};

/* 0, or the status to refuse it with (400, 431, 501, 505). The fields get :method, :path and
 * :authority too. */
int http1_parse_head(const char *bytes, size_t count, struct fields *fields,
                     struct http1_head *ret_head);

/* A chunked body, piece by piece. Zeroed to begin with. */
struct http1_chunks {
        uint64_t left;
        unsigned line_length;
        enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_DATA_END, CHUNK_TRAILER, CHUNK_END } state;
        bool has_digit, is_extension;
};

/* Takes bytes up to the next piece of the body, or to the end. Returns how many were taken (< 0:
 * malformed); the piece is within them. state CHUNK_END: over. */
ssize_t http1_chunks_take(struct http1_chunks *chunks, const char *bytes, size_t count,
                          const char **ret_piece, size_t *ret_piece_count);
