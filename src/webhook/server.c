/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS side of admission. */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "list.h"
#include "log.h"
#include "review.h"
#include "scope.h"
#include "webhook_metrics.h"

struct server {
        struct loop *loop;
        struct http_server *http;
        const struct rules *rules;
        const struct http_authorizer *authorizer;
        struct webhook_metrics metrics;
        bool is_ready;
        struct timer drain;
        void (*on_drained)(void *owner);
        void *owner;
};

static void reply_text(struct http_exchange *exchange, int status, const char *text)
{
        http_reply(exchange, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void reply_review(struct server *server, struct http_exchange *exchange,
                         enum review_side side)
{
        const struct webhook_clock began = webhook_clock_now();
        enum review_outcome outcome = REVIEW_LEFT;
        autofree char *answer = NULL;
        struct err e = { 0 };
        size_t count;
        const char *body = http_body(exchange, &count);

        if (strcmp(http_method(exchange), "POST") != 0)
                return reply_text(exchange, 405, "an AdmissionReview needs the method POST\n");
        const int r = review_answer(body, count, side, server->rules, &answer, &outcome, &e);
        if (r < 0)
                reply_text(exchange, r == -ENOMEM ? 503 : 400, e.text);
        else
                http_reply(exchange, 200, "application/json", answer, strlen(answer));
        webhook_metrics_add(&server->metrics, side, answer ? outcome : WEBHOOK_BROKEN, &began);
}

static void reply_metrics(void *owner, struct http_exchange *exchange)
{
        struct server *server = owner;
        struct str text = { 0 };

        if (webhook_metrics_print(&server->metrics, &text) == 0)
                http_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", text.text,
                           text.length);
        else
                reply_text(exchange, 500, "out of memory\n");
        str_done(&text);
}

static void serve_metrics(struct server *server, struct http_exchange *exchange)
{
        const struct http_authorizer *authorizer = server->authorizer;

        if (authorizer)
                authorizer->check(authorizer->owner, exchange, reply_metrics, server);
        else
                reply_metrics(server, exchange);
}

/* A path is one row. */
static void on_request(void *owner, struct http_exchange *exchange)
{
        struct server *server = owner;
        const char *path = http_path(exchange);

        if (http_fault(exchange))
                reply_text(exchange, http_fault(exchange), "the request is refused\n");
        else if (strcmp(path, "/mutate") == 0)
                reply_review(server, exchange, REVIEW_MUTATE);
        else if (strcmp(path, "/validate") == 0)
                reply_review(server, exchange, REVIEW_VALIDATE);
        else if (strcmp(path, "/healthz") == 0)
                reply_text(exchange, 200, "ok\n");
        else if (strcmp(path, "/metrics") == 0)
                serve_metrics(server, exchange);
        else if (strcmp(path, "/readyz") == 0)
                reply_text(exchange, server->is_ready ? 200 : 503,
                           server->is_ready ? "ok\n"
                                            : "the webhook configurations have no CA yet\n");
        else
                reply_text(exchange, 404,
                           "there is /mutate, /validate, /healthz, /readyz and /metrics\n");
}

static void on_drain(struct timer *timer)
{
        struct server *server = container_of(timer, struct server, drain);

        if (http_server_connections(server->http) == 0)
                server->on_drained(server->owner);
        else
                loop_timer_set(server->loop, timer, 20 * NS_PER_MS);
}

int server_new(struct loop *loop, const struct server_options *options, struct server **ret_server,
               struct err *e)
{
        /* Old and new object of up to 3 MiB each; the API server's connections are few and long. */
        const struct http_limits limits = { .body_bytes = 8u << 20, .buffered_bytes = 32u << 20 };
        struct server *server = calloc(1, sizeof *server);
        int r;

        if (!server)
                return err_set(e, -ENOMEM, "out of memory");
        *server = (struct server){ .loop = loop,
                                   .rules = options->rules,
                                   .authorizer = options->authorizer,
                                   .drain = { .on_due = on_drain } };
        r = http_server_new(loop, &limits, &(struct http_service){ on_request, server },
                            &server->http);
        if (r == 0)
                r = http_server_listen(server->http, options->address, 0, options->tls, e);
        if (r < 0) {
                server_free(server);
                return r;
        }
        *ret_server = server;
        return 0;
}

void server_set_ready(struct server *server)
{
        server->is_ready = true;
}

unsigned server_port(const struct server *server)
{
        return http_server_port(server->http);
}

void server_drain(struct server *server, void (*on_drained)(void *owner), void *owner)
{
        server->on_drained = on_drained;
        server->owner = owner;
        server->is_ready = false;
        http_server_drain(server->http);
        loop_timer_set(server->loop, &server->drain, 0);
}

void server_free(struct server *server)
{
        if (!server)
                return;
        loop_timer_clear(server->loop, &server->drain);
        if (server->http)
                http_server_free(server->http);
        free(server);
}
