/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer. It lives until its owner ended it and the protocol let it go. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "http_internal.h"

struct http_exchange *exchange_new(struct http_conn *hc)
{
        struct http_exchange *exchange = calloc(1, sizeof *exchange);

        if (!exchange)
                return NULL;
        exchange->hc = hc;
        exchange->server = hc->server;
        exchange->since_ns = clock_now_ns();
        list_append(&hc->exchanges, &exchange->link);
        return exchange;
}

static void exchange_free(struct http_exchange *exchange)
{
        http_server_unbuffer(exchange->server, exchange->body.length);
        fields_done(&exchange->fields);
        fields_done(&exchange->head);
        fields_done(&exchange->trailers);
        str_done(&exchange->body);
        str_done(&exchange->out);
        str_done(&exchange->next);
        free(exchange->path);
        free(exchange);
}

int exchange_add_field(struct http_exchange *exchange, const char *name, size_t name_length,
                       const char *value, size_t value_length)
{
        int r = fields_add(&exchange->fields, name, name_length, value, value_length);

        if (r < 0)
                exchange_refuse(exchange, r == -EMSGSIZE ? 431 : r == -ENOMEM ? 503 : 400);
        return r;
}

void exchange_add_body(struct http_exchange *exchange, const void *bytes, size_t count)
{
        if (exchange->fault)
                return;
        if (count > http_server_limits(exchange->server)->body_bytes - exchange->body.length)
                return exchange_refuse(exchange, 413);
        if (!http_server_buffer(exchange->server, count))
                return exchange_refuse(exchange, 503);
        if (str_append_bytes(&exchange->body, bytes, count) < 0) {
                http_server_unbuffer(exchange->server, count);
                exchange_refuse(exchange, 503);
        }
}

/* Nobody here asks for a query. */
static void take_path(struct http_exchange *exchange)
{
        const char *whole = fields_get(&exchange->fields, ":path");

        if (!whole || *whole != '/' || !fields_get(&exchange->fields, ":method"))
                exchange->fault = exchange->fault ? exchange->fault : 400;
        exchange->path = strdup(whole ? whole : "");
        if (exchange->path)
                exchange->path[strcspn(exchange->path, "?")] = '\0';
        else
                exchange->fault = exchange->fault ? exchange->fault : 503;
}

static void give(struct http_exchange *exchange)
{
        if (exchange->is_given)
                return;
        exchange->is_given = true;
        take_path(exchange);
        if (exchange->fault) {
                http_server_unbuffer(exchange->server, exchange->body.length);
                str_done(&exchange->body);
        }
        http_server_serve(exchange->server, exchange);
}

void exchange_complete(struct http_exchange *exchange)
{
        exchange->is_complete = true;
        give(exchange);
}

void exchange_head_done(struct http_exchange *exchange)
{
        exchange->is_head_done = true;
        if (exchange->fault)
                give(exchange);
}

void exchange_refuse(struct http_exchange *exchange, int status)
{
        if (exchange->fault || exchange->is_given)
                return;
        exchange->fault = status;
        if (exchange->is_head_done)
                give(exchange);
}

size_t exchange_pending(struct http_exchange *exchange, const char **ret_bytes)
{
        if (exchange->out_sent == exchange->out.length && exchange->next.length) {
                struct str empty = exchange->out;

                exchange->out = exchange->next;
                exchange->next = empty;
                exchange->next.length = 0;
                exchange->out_sent = 0;
        }
        *ret_bytes = exchange->out.text + exchange->out_sent;
        return exchange->out.length - exchange->out_sent;
}

void exchange_sent(struct http_exchange *exchange, size_t count)
{
        exchange->out_sent += count;
        exchange->since_ns = clock_now_ns();
        if (exchange->out_sent == exchange->out.length && !exchange->is_ended) {
                str_done(&exchange->out); /* a stream may rest for days */
                exchange->out_sent = 0;
        }
}

void exchange_detach(struct http_exchange *exchange)
{
        list_remove(&exchange->link);
        exchange->hc = NULL;
        if (exchange->is_ended || !exchange->is_given)
                return exchange_free(exchange);
        if (exchange->on_gone)
                exchange->on_gone(exchange->gone_owner);
}

const char *http_method(const struct http_exchange *exchange)
{
        const char *method = fields_get(&exchange->fields, ":method");

        return method ? method : "";
}

const char *http_path(const struct http_exchange *exchange)
{
        return exchange->path ? exchange->path : "";
}

const char *http_field(const struct http_exchange *exchange, const char *name)
{
        return fields_get(&exchange->fields, name);
}

const char *http_body(const struct http_exchange *exchange, size_t *ret_count)
{
        *ret_count = exchange->body.length;
        return exchange->body.text ? exchange->body.text : "";
}

bool http_is_h2(const struct http_exchange *exchange)
{
        return exchange->hc && exchange->hc->protocol == &http2_protocol;
}

int http_fault(const struct http_exchange *exchange)
{
        return exchange->fault;
}

int http_peer(const struct http_exchange *exchange, struct ucred *ret_peer)
{
        struct ucred peer;
        socklen_t length = sizeof peer;

        if (!exchange->hc)
                return -ENOTCONN;
        if (getsockopt(conn_fd(exchange->hc->conn), SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
                return -errno;
        *ret_peer = peer;
        return 0;
}

void http_on_gone(struct http_exchange *exchange, void (*on_gone)(void *owner), void *owner)
{
        exchange->on_gone = on_gone;
        exchange->gone_owner = owner;
}

static void wake(struct http_exchange *exchange)
{
        if (exchange->hc)
                exchange->hc->protocol->wake(exchange);
}

void http_add_field(struct http_exchange *exchange, const char *name, const char *value)
{
        struct fields *to = exchange->has_sent ? &exchange->trailers : &exchange->head;

        fields_add(to, name, strlen(name), value, strlen(value));
}

void http_start(struct http_exchange *exchange, int status, const char *content_type)
{
        exchange->status = status;
        if (content_type)
                http_add_field(exchange, "content-type", content_type);
}

int http_send_latest(struct http_exchange *exchange, const void *bytes, size_t count)
{
        int r;

        exchange->has_sent = true;
        if (!exchange->hc)
                return 0;
        exchange->next.length = 0;
        r = str_append_bytes(&exchange->next, bytes, count);
        if (r < 0)
                return r; /* before the status is said: it will be another */
        if (exchange->out_sent == exchange->out.length)
                exchange->since_ns = clock_now_ns();
        wake(exchange);
        return r;
}

void http_end(struct http_exchange *exchange)
{
        exchange->is_ended = true;
        exchange->on_gone = NULL;
        exchange->since_ns = clock_now_ns();
        if (exchange->hc)
                wake(exchange);
        else
                exchange_free(exchange);
}

void http_reply_str(struct http_exchange *exchange, int status, const char *content_type,
                    struct str *body)
{
        http_start(exchange, status, content_type);
        exchange->has_sent = true;
        str_done(&exchange->next);
        exchange->next = *body;
        *body = (struct str){ 0 };
        http_end(exchange);
}

void http_reply(struct http_exchange *exchange, int status, const char *content_type,
                const void *body, size_t count)
{
        http_start(exchange, status, content_type);
        if (http_send_latest(exchange, body, count) < 0)
                exchange->status = 500;
        http_end(exchange);
}
