/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS side of admission. */
#pragma once

#include "address.h"
#include "loop.h"
#include "rules.h"
#include "tls.h"

struct server;

/* `rules` and `tls` live longer than the server. */
int server_new(struct loop *loop, const struct address *address, struct tls_context *tls,
               const struct rules *rules, struct server **ret_server, struct err *e);
/* /readyz says yes from now on. */
void server_set_ready(struct server *server);
unsigned server_port(const struct server *server);
/* Ends what is under way, then tells. */
void server_drain(struct server *server, void (*on_drained)(void *owner), void *owner);
void server_free(struct server *server); /* NULL is fine */
