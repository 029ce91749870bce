/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS side of admission. */
#pragma once

#include "address.h"
#include "http_server.h"
#include "loop.h"
#include "rules.h"
#include "tls.h"

struct server;

struct server_options { /* what it points to lives longer than the server, but the address */
        const struct address *address;
        struct tls_context *tls;
        const struct rules *rules;
        const struct http_authorizer *authorizer; /* who may read /metrics; NULL: everybody */
};

int server_new(struct loop *loop, const struct server_options *options, struct server **ret_server,
               struct err *e);
/* /readyz says yes from now on. */
void server_set_ready(struct server *server);
unsigned server_port(const struct server *server);
/* Ends what is under way, then tells. */
void server_drain(struct server *server, void (*on_drained)(void *owner), void *owner);
void server_free(struct server *server); /* NULL is fine */
