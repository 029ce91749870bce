/* SPDX-License-Identifier: Apache-2.0 */
/* The pages, and the socket that they are on. */
#include "status_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "list.h"
#include "log.h"

enum { AGAIN_MS = 2000, CONNECTIONS = 32, REQUEST_BYTES = 4096 };

struct status_server {
        struct loop *loop;
        struct status_source source;
        struct address address;
        struct tls_context *tls;
        const struct http_authorizer *authorizer;
        struct http_server *http;
        struct timer again;
        bool is_troubled; /* said so already */
};

static const char plain[] = "text/plain; charset=utf-8";

static void reply_text(struct http_exchange *exchange, int status, const char *text)
{
        http_reply(exchange, status, plain, text, strlen(text));
}

static void reply_metrics(void *owner, struct http_exchange *exchange)
{
        struct status_server *server = owner;
        struct str text = { 0 };

        if (server->source.print_metrics(server->source.owner, &text) == 0 && text.text)
                http_reply_str(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
        else
                reply_text(exchange, 500, "out of memory\n");
        str_done(&text);
}

static void serve_metrics(struct status_server *server, struct http_exchange *exchange)
{
        const struct http_authorizer *authorizer = server->authorizer;

        if (authorizer)
                authorizer->check(authorizer->owner, exchange, reply_metrics, server);
        else
                reply_metrics(server, exchange);
}

/* It answers, therefore it lives: what is missing is no reason to start it anew, and is said. */
static void serve_health(struct status_server *server, struct http_exchange *exchange)
{
        struct str text = { 0 };

        if (str_append(&text, "ok\n") < 0)
                return reply_text(exchange, 500, "out of memory\n");
        server->source.is_ready(server->source.owner, &text);
        reply_text(exchange, 200, text.text);
        str_done(&text);
}

static void serve_readiness(struct status_server *server, struct http_exchange *exchange)
{
        struct str reasons = { 0 };
        const bool is_ready = server->source.is_ready(server->source.owner, &reasons);

        reply_text(exchange, is_ready ? 200 : 503,
                   is_ready       ? "ok\n"
                   : reasons.text ? reasons.text
                                  : "out of memory\n");
        str_done(&reasons);
}

static const struct {
        const char *path;
        void (*serve)(struct status_server *server, struct http_exchange *exchange);
} pages[] = { { "/metrics", serve_metrics },
              { "/healthz", serve_health },
              { "/readyz", serve_readiness } };

static void on_request(void *owner, struct http_exchange *exchange)
{
        const char *method = http_method(exchange), *path = http_path(exchange);

        if (http_fault(exchange))
                return reply_text(exchange, http_fault(exchange), "the request is refused\n");
        if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
                return reply_text(exchange, 405, "GET only\n");
        for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
                if (strcmp(path, pages[i].path) == 0)
                        return pages[i].serve(owner, exchange);
        reply_text(exchange, 404, "there is /metrics, /healthz and /readyz\n");
}

static void try_listen(struct status_server *server)
{
        struct err e = { 0 };

        if (http_server_listen(server->http, &server->address, 0600, server->tls, &e) == 0)
                return;
        if (!server->is_troubled)
                log_warn("no metrics yet: %s", e.text);
        server->is_troubled = true;
        loop_timer_set(server->loop, &server->again, AGAIN_MS * NS_PER_MS);
}

static void on_again(struct timer *timer)
{
        try_listen(container_of(timer, struct status_server, again));
}

int status_server_new(struct loop *loop, const struct status_door *door,
                      const struct status_source *source, struct status_server **ret_server)
{
        const struct http_limits limits = { .connections = CONNECTIONS,
                                            .streams = 8,
                                            .body_bytes = REQUEST_BYTES,
                                            .buffered_bytes = CONNECTIONS * REQUEST_BYTES };
        struct status_server *server = calloc(1, sizeof *server);
        const struct http_service service = { on_request, server };
        int r;

        if (!server)
                return -ENOMEM;
        server->loop = loop;
        server->source = *source;
        server->address = *door->address;
        server->tls = door->tls;
        server->authorizer = door->authorizer;
        server->again.on_due = on_again;
        r = http_server_new(loop, &limits, &service, &server->http);
        if (r < 0) {
                free(server);
                return r;
        }
        try_listen(server);
        *ret_server = server;
        return 0;
}

void status_server_free(struct status_server *server)
{
        if (!server)
                return;
        loop_timer_clear(server->loop, &server->again);
        http_server_free(server->http);
        free(server);
}
