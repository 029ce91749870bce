/* SPDX-License-Identifier: Apache-2.0 */
/* http_client: requests to one server over HTTP/2, all on one connection, which is made when it is
 * needed and given up when nothing comes from the other end any more. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "err.h"
#include "fields.h"
#include "loop.h"
#include "tls.h"

struct http_client;
struct http_call;

struct http_client_options {
        struct address address;
        struct tls_context *tls; /* stays the caller's; NULL: plain */
        const char *server_name; /* whom the certificate must name */
        const char *authority;   /* NULL: "localhost" */
        unsigned dial_ms;        /* to connect and agree on TLS (10 s) */
        unsigned ping_ms;        /* after so much silence with calls open, ask (15 s) … */
        unsigned pong_ms;        /* … and wait so long for an answer (10 s) */
};

int http_client_new(struct loop *loop, const struct http_client_options *options,
                    struct http_client **ret_client);
/* Calls that are open end with -ECANCELED. Not from inside an event of a call. */
void http_client_free(struct http_client *client);

/* Gives up the connection, so that the next call makes a new one (with new credentials, say). */
void http_client_hang_up(struct http_client *client);

struct http_call_request {
        const char *method, *path;
        const struct fields *fields; /* NULL: none */
        const void *body;            /* copied */
        size_t body_count;
};

/* In this order: on_head at most once, on_data any number of times, on_end exactly once, after which
 * the call is no more. None comes from inside http_client_call(). */
struct http_call_events {
        void (*on_head)(void *owner, int status, const struct fields *head);
        void (*on_data)(void *owner, const uint8_t *bytes, size_t count);
        /* why->code 0: the stream ended in order, trailers may be empty. -EAGAIN: the server did not
         * touch it, ask again; -ETIMEDOUT, -ECONNREFUSED, -ECONNRESET …: no connection. */
        void (*on_end)(void *owner, const struct err *why, const struct fields *trailers);
};

/* *ret_call is for http_call_cancel() until on_end. */
int http_client_call(struct http_client *client, const struct http_call_request *request,
                     const struct http_call_events *events, void *owner,
                     struct http_call **ret_call);

/* Nothing is told any more, not even the end. */
void http_call_cancel(struct http_call *call);
