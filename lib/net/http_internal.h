/* SPDX-License-Identifier: Apache-2.0 */
/* http_internal: what the parts of the HTTP server share: the exchange, its connection, the wires. */
#pragma once

#include <stdint.h>

#include "conn.h"
#include "fields.h"
#include "http_server.h"
#include "list.h"

struct http_conn;

/* A protocol is HTTP/1.1 or HTTP/2: how exchanges look in bytes. */
struct http_protocol {
        int (*open)(struct http_conn *hc);
        int (*on_bytes)(struct http_conn *hc, const uint8_t *bytes, size_t count);
        ssize_t (*next_bytes)(struct http_conn *hc, const uint8_t **ret_bytes);
        bool (*is_done)(struct http_conn *hc);
        void (*wake)(struct http_exchange *exchange);  /* there is more of the reply */
        void (*reset)(struct http_exchange *exchange); /* give it up, the client took too long */
        void (*close)(struct http_conn *hc);
};
extern const struct http_protocol http1_protocol, http2_protocol;

struct http_conn {
        struct list link; /* of its server */
        struct http_server *server;
        struct conn *conn;
        const struct http_protocol *protocol; /* NULL until the first bytes tell */
        void *state;                          /* the protocol's */
        struct list exchanges;
        bool is_unix, is_draining;
};

struct http_exchange {
        struct list link; /* of its connection */
        struct http_server *server;
        struct http_conn *hc; /* NULL: the client is gone */
        struct fields fields;
        char *path;
        struct str body;
        uint64_t since_ns; /* of the last progress */
        int fault;
        int32_t stream;                 /* HTTP/2 */
        bool is_head_done, is_complete; /* the request */
        bool is_given;                  /* to the owner … */
        bool is_ended;                  /* … and back */
        void (*on_gone)(void *owner);
        void *gone_owner;

        int status;
        struct fields head, trailers;
        struct str out, next; /* on its way, and waiting */
        size_t out_sent;
        bool is_begun; /* the head is on its way */
        bool has_sent; /* a message: fields go to the trailers from now on */
};

/* Used by the wires. */
struct http_exchange *exchange_new(struct http_conn *hc); /* or NULL */
int exchange_add_field(struct http_exchange *exchange, const char *name, size_t name_length,
                       const char *value, size_t value_length);
void exchange_add_body(struct http_exchange *exchange, const void *bytes, size_t count);
void exchange_head_done(struct http_exchange *exchange); /* all fields are there … */
void exchange_complete(struct http_exchange *exchange);  /* … and all of the body */
/* The first fault counts. Its head is read to the end first, so that what is refused has a path. */
void exchange_refuse(struct http_exchange *exchange, int status);
/* What of the reply comes next; exchange_sent() moves on. */
size_t exchange_pending(struct http_exchange *exchange, const char **ret_bytes);
void exchange_sent(struct http_exchange *exchange, size_t count);
void exchange_detach(struct http_exchange *exchange); /* the client is gone or has it all */

const struct http_limits *http_server_limits(const struct http_server *server);
void http_server_serve(struct http_server *server, struct http_exchange *exchange);
/* false: too much is buffered already. */
bool http_server_buffer(struct http_server *server, size_t count);
void http_server_unbuffer(struct http_server *server, size_t count);
int http_server_accept(struct http_server *server, int fd, struct tls_context *tls, bool is_unix);

/* The sockets that a server listens on. */
struct http_listener;
int http_listener_new(struct loop *loop, struct http_server *server, const struct address *address,
                      mode_t mode, struct tls_context *tls, struct http_listener **ret_listener,
                      struct err *e);
unsigned http_listener_port(const struct http_listener *listener);
void http_listener_free(struct http_listener *listener);
