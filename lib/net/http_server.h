/* SPDX-License-Identifier: Apache-2.0 */
/* http_server: HTTP/1.1 and HTTP/2 on the same sockets, plain or TLS. A request is handed over whole,
 * within limits, as an exchange; the answer may come at once, later, or as a stream of messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "address.h"
#include "err.h"
#include "loop.h"
#include "str.h"
#include "tls.h"

struct http_server;
struct http_exchange;

/* What clients may cost. Zero takes the default. */
struct http_limits {
        unsigned connections;  /* at once (128); the longest idle is closed for a new one */
        unsigned streams;      /* requests at once on one connection (64) */
        size_t body_bytes;     /* of one request (1 MiB) */
        size_t buffered_bytes; /* of all requests together (16 MiB) */
        unsigned request_ms;   /* for a request to arrive whole (10 s) */
        unsigned reply_ms;     /* for a client that does not read on (30 s) */
        unsigned idle_ms;      /* between requests (5 min) */
        unsigned resets; /* of streams by the client, in a row; 20 a second are forgiven (200) */
};

/* Called with each request; also with one that is refused, see http_fault(). */
struct http_service {
        void (*on_request)(void *owner, struct http_exchange *exchange);
        void *owner;
};

/* Who may ask. check() calls pass, at once or in a later turn, or answers the exchange itself. */
struct http_authorizer {
        void (*check)(void *owner, struct http_exchange *exchange,
                      void (*pass)(void *pass_owner, struct http_exchange *exchange),
                      void *pass_owner);
        void *owner;
};

int http_server_new(struct loop *loop, const struct http_limits *limits,
                    const struct http_service *service, struct http_server **ret_server);

/* May be called several times. tls stays the caller's; NULL: plain. mode is a unix socket's. */
int http_server_listen(struct http_server *server, const struct address *address, mode_t mode,
                       struct tls_context *tls, struct err *e);
/* Stops listening everywhere; what is connected stays. */
void http_server_unlisten(struct http_server *server);
/* The port of the first TCP socket, for those who asked for port 0. */
unsigned http_server_port(const struct http_server *server);

/* Closes in order: no new requests; idle connections go at once, others when their last exchange has
 * ended. The owner ends its streams. */
void http_server_drain(struct http_server *server);
/* Closes at once. Exchanges that are not ended must be ended before. */
void http_server_free(struct http_server *server);
unsigned http_server_connections(const struct http_server *server);

/* The request. Texts live as long as the exchange. */
const char *http_method(const struct http_exchange *exchange);
const char *http_path(const struct http_exchange *exchange); /* without the query */
const char *http_field(const struct http_exchange *exchange, const char *name); /* or NULL */
const char *http_body(const struct http_exchange *exchange, size_t *ret_count); /* ends with NUL */
bool http_is_h2(const struct http_exchange *exchange);

/* 0, or the status (413, 431, 503 …) with which the server wants it refused; the body is not there. */
int http_fault(const struct http_exchange *exchange);

/* Who is at the other end of a unix socket. -ENOTCONN: nobody any more. */
int http_peer(const struct http_exchange *exchange, struct ucred *ret_peer);

/* An exchange is the owner's until it is ended, whether or not the client still waits. */
void http_reply(struct http_exchange *exchange, int status, const char *content_type,
                const void *body, size_t count); /* all at once, and ends it */

/* The same with a body that becomes the exchange's: what is large is held once. */
void http_reply_str(struct http_exchange *exchange, int status, const char *content_type,
                    struct str *body);

/* Told once if the client goes before the end; the exchange must still be ended. */
void http_on_gone(struct http_exchange *exchange, void (*on_gone)(void *owner), void *owner);

/* The answer in parts, over HTTP/2 as they come, over HTTP/1.1 when it is ended. First the head … */
void http_start(struct http_exchange *exchange, int status, const char *content_type);
/* … then messages. One is on its way and one waits: a newer one takes the place of that which waits,
 * so a slow client gets the newest and costs no more than two. 0 or -ENOMEM. */
int http_send_latest(struct http_exchange *exchange, const void *bytes, size_t count);
/* … fields for the head, or after the first message for the trailers; then the end. */
void http_add_field(struct http_exchange *exchange, const char *name, const char *value);
void http_end(struct http_exchange *exchange);
