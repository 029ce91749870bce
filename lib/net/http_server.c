/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: its connections, what they may cost, and how it ends. */
#include "http_server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "http_internal.h"
#include "vec.h"

enum { SWEEP_MS = 500 };

struct http_server {
        struct loop *loop;
        struct http_limits limits;
        struct http_service service;
        struct vec listeners; /* of struct http_listener * */
        struct list connections;
        unsigned connection_count;
        size_t buffered_bytes;
        struct timer sweep;
        bool is_draining;
};

static const char h2_preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static struct http_limits limits_or_default(const struct http_limits *limits)
{
        static const struct http_limits none;
        const struct http_limits *from = limits ? limits : &none;

        return (struct http_limits){
                .connections = from->connections ?: 128,
                .streams = from->streams ?: 64,
                .body_bytes = from->body_bytes ?: 1 << 20,
                .buffered_bytes = from->buffered_bytes ?: 16 << 20,
                .request_ms = from->request_ms ?: 10000,
                .reply_ms = from->reply_ms ?: 30000,
                .idle_ms = from->idle_ms ?: 300000,
                .resets = from->resets ?: 200,
        };
}

const struct http_limits *http_server_limits(const struct http_server *server)
{
        return &server->limits;
}

void http_server_serve(struct http_server *server, struct http_exchange *exchange)
{
        server->service.on_request(server->service.owner, exchange);
}

bool http_server_buffer(struct http_server *server, size_t count)
{
        if (count > server->limits.buffered_bytes - server->buffered_bytes)
                return false;
        server->buffered_bytes += count;
        return true;
}

void http_server_unbuffer(struct http_server *server, size_t count)
{
        server->buffered_bytes -= count;
}

static int choose_protocol(struct http_conn *hc, const struct http_protocol *chosen)
{
        int r;

        hc->protocol = chosen;
        r = chosen->open(hc);
        if (r < 0)
                hc->protocol = NULL;
        return r;
}

static int on_open(void *owner)
{
        struct http_conn *hc = owner;

        /* Without TLS the first bytes tell; until they come, a connection costs next to nothing. */
        if (!conn_has_tls(hc->conn))
                return 0;
        return choose_protocol(hc, conn_is_h2(hc->conn) ? &http2_protocol : &http1_protocol);
}

static int on_bytes(void *owner, const uint8_t *bytes, size_t count)
{
        struct http_conn *hc = owner;

        if (!hc->protocol) {
                /* No method of HTTP/1 begins like the preface's first three bytes. */
                const size_t known = count < 3 ? count : 3;
                int r = choose_protocol(hc, memcmp(bytes, h2_preface, known) == 0
                                                    ? &http2_protocol
                                                    : &http1_protocol);

                if (r < 0)
                        return r;
        }
        return hc->protocol->on_bytes(hc, bytes, count);
}

static ssize_t next_bytes(void *owner, const uint8_t **ret_bytes)
{
        struct http_conn *hc = owner;

        return hc->protocol ? hc->protocol->next_bytes(hc, ret_bytes) : 0;
}

static bool is_done(void *owner)
{
        struct http_conn *hc = owner;

        return hc->protocol ? hc->protocol->is_done(hc) : hc->is_draining;
}

static void on_close(void *owner, const struct err *why)
{
        struct http_conn *hc = owner;

        (void)why;
        /* First the exchanges: an owner that is told of one may end another, which uses the protocol. */
        LIST_EACH (item, &hc->exchanges)
                exchange_detach(container_of(item, struct http_exchange, link));
        if (hc->protocol)
                hc->protocol->close(hc);
        list_remove(&hc->link);
        hc->server->connection_count--;
        free(hc);
}

static const struct conn_protocol protocol = {
        .on_open = on_open,
        .on_bytes = on_bytes,
        .next_bytes = next_bytes,
        .is_done = is_done,
        .on_close = on_close,
};

/* The one without a request that was silent for longest. */
static struct http_conn *longest_idle(struct http_server *server)
{
        struct http_conn *found = NULL;

        LIST_EACH (item, &server->connections) {
                struct http_conn *hc = container_of(item, struct http_conn, link);

                if (list_is_empty(&hc->exchanges) && !hc->is_draining &&
                    (!found || conn_heard_ns(hc->conn) < conn_heard_ns(found->conn)))
                        found = hc;
        }
        return found;
}

/* One that is closed for it is counted until the next turn: the limit may be passed by one turn's. */
static bool has_capacity(struct http_server *server)
{
        struct http_conn *idle;

        if (server->connection_count < server->limits.connections)
                return true;
        idle = longest_idle(server);
        if (!idle)
                return false;
        idle->is_draining = true;
        conn_close(idle->conn, -EBUSY, "others wait");
        return true;
}

int http_server_accept(struct http_server *server, int fd, struct tls_context *tls, bool is_unix)
{
        struct http_conn *hc = has_capacity(server) ? calloc(1, sizeof *hc) : NULL;
        struct tls_session *session = NULL;
        int r;

        if (!hc) {
                close(fd);
                return -EBUSY;
        }
        r = tls ? tls_session_new(tls, fd, NULL, &session, NULL) : 0;
        if (r < 0) {
                close(fd);
                free(hc);
                return r;
        }
        hc->server = server;
        hc->is_unix = is_unix;
        list_init(&hc->exchanges);
        r = conn_new(server->loop, fd, session, &protocol, hc, &hc->conn);
        if (r < 0) {
                free(hc);
                return r;
        }
        list_append(&server->connections, &hc->link);
        server->connection_count++;
        if (!server->sweep.is_set)
                loop_timer_set(server->loop, &server->sweep, SWEEP_MS * NS_PER_MS);
        return 0;
}

static bool is_over(uint64_t since_ns, unsigned limit_ms)
{
        return clock_now_ns() > since_ns + limit_ms * NS_PER_MS;
}

static void sweep_exchange(struct http_exchange *exchange)
{
        const struct http_limits *limits = &exchange->server->limits;
        const char *bytes;

        if (!exchange->is_given) {
                /* Refusing needs a head; one that never ends is given up. */
                if (is_over(exchange->since_ns, limits->request_ms + 2 * SWEEP_MS))
                        exchange->hc->protocol->reset(exchange);
                else if (is_over(exchange->since_ns, limits->request_ms))
                        exchange_refuse(exchange, 408);
                return;
        }
        if ((exchange->is_ended || exchange_pending(exchange, &bytes) > 0) &&
            is_over(exchange->since_ns, limits->reply_ms))
                exchange->hc->protocol->reset(exchange);
}

static void sweep_connection(struct http_conn *hc)
{
        const struct http_limits *limits = &hc->server->limits;
        uint64_t stuck_ns = conn_stuck_ns(hc->conn);

        LIST_EACH (item, &hc->exchanges)
                sweep_exchange(container_of(item, struct http_exchange, link));
        if (stuck_ns && is_over(stuck_ns, limits->reply_ms))
                conn_close(hc->conn, -ETIMEDOUT, "the peer does not read");
        else if (list_is_empty(&hc->exchanges) &&
                 is_over(conn_heard_ns(hc->conn),
                         hc->protocol ? limits->idle_ms : limits->request_ms))
                conn_close(hc->conn, -ETIMEDOUT, "idle for too long");
}

static void on_sweep(struct timer *timer)
{
        struct http_server *server = container_of(timer, struct http_server, sweep);

        LIST_EACH (item, &server->connections)
                sweep_connection(container_of(item, struct http_conn, link));
        if (!list_is_empty(&server->connections))
                loop_timer_set(server->loop, &server->sweep, SWEEP_MS * NS_PER_MS);
}

int http_server_new(struct loop *loop, const struct http_limits *limits,
                    const struct http_service *service, struct http_server **ret_server)
{
        struct http_server *server = calloc(1, sizeof *server);

        if (!server)
                return -ENOMEM;
        server->loop = loop;
        server->limits = limits_or_default(limits);
        server->service = *service;
        server->listeners = (struct vec)VEC_OF(struct http_listener *);
        server->sweep.on_due = on_sweep;
        list_init(&server->connections);
        *ret_server = server;
        return 0;
}

int http_server_listen(struct http_server *server, const struct address *address, mode_t mode,
                       struct tls_context *tls, struct err *e)
{
        struct http_listener *listener;
        int r = http_listener_new(server->loop, server, address, mode, tls, &listener, e);

        if (r < 0)
                return r;
        r = vec_push(&server->listeners, &listener);
        if (r < 0) {
                http_listener_free(listener);
                return err_set(e, r, "out of memory");
        }
        return 0;
}

unsigned http_server_port(const struct http_server *server)
{
        for (size_t i = 0; i < server->listeners.count; i++) {
                unsigned port =
                        http_listener_port(*(struct http_listener **)vec_at(&server->listeners, i));

                if (port)
                        return port;
        }
        return 0;
}

void http_server_unlisten(struct http_server *server)
{
        for (size_t i = 0; i < server->listeners.count; i++)
                http_listener_free(*(struct http_listener **)vec_at(&server->listeners, i));
        vec_done(&server->listeners);
}

void http_server_drain(struct http_server *server)
{
        http_server_unlisten(server);
        server->is_draining = true;
        LIST_EACH (item, &server->connections) {
                struct http_conn *hc = container_of(item, struct http_conn, link);

                hc->is_draining = true;
                conn_wake(hc->conn);
        }
}

unsigned http_server_connections(const struct http_server *server)
{
        return server->connection_count;
}

void http_server_free(struct http_server *server)
{
        if (!server)
                return;
        http_server_unlisten(server);
        loop_timer_clear(server->loop, &server->sweep);
        LIST_EACH (item, &server->connections)
                conn_close(container_of(item, struct http_conn, link)->conn, 0, "the server ends");
        while (!list_is_empty(&server->connections)) /* closed in the next turn */
                loop_step(server->loop, 0);
        assert(server->buffered_bytes == 0);
        free(server);
}
