/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the HTTP server, HTTP/1.1 and HTTP/2, as one client's bytes drive it. Requests are
 * answered at once, later, in parts, or when the client is gone; none may be forgotten. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "http_internal.h"

const char *const fuzz_words[] = { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /a HTTP/1.1\r\n\r\n",
                                   "Content-Length: 3\r\n\r\nabc",     "\r\n\r\n",
                                   "Expect: 100-continue\r\n",         NULL };

enum { HELD_MOST = 256 };

struct held {
        struct http_exchange *exchanges[HELD_MOST];
        unsigned count, gone;
};

static void on_gone(void *owner)
{
        ((struct held *)owner)->gone++;
}

static void on_request(void *owner, struct http_exchange *exchange)
{
        struct held *held = owner;
        const size_t length = strlen(http_path(exchange));

        if (http_fault(exchange) || length % 3 == 0 || held->count == HELD_MOST)
                return http_reply(exchange, http_fault(exchange) ?: 200, "text/plain", "x", 1);
        http_on_gone(exchange, on_gone, held);
        if (length % 3 == 1) {
                http_start(exchange, 200, "a/b");
                http_send_latest(exchange, "first", 5);
                http_send_latest(exchange, "second", 6);
        }
        held->exchanges[held->count++] = exchange;
}

static void end_all(struct held *held)
{
        for (unsigned i = 0; i < held->count; i++) {
                http_start(held->exchanges[i], 200, NULL);
                http_add_field(held->exchanges[i], "grpc-status", "0");
                http_end(held->exchanges[i]);
        }
        held->count = 0;
}

static void steps(struct loop *loop, int fd, unsigned count)
{
        char answers[4096];

        for (unsigned i = 0; i < count; i++) {
                loop_step(loop, 0);
                while (recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0)
                        ;
        }
}

/* Half of the inputs begin with the preface and an empty SETTINGS, so that frames are reached. */
static void feed(int fd, const uint8_t *bytes, size_t count)
{
        static const char begin[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";

        if (count && bytes[0] & 1)
                send(fd, begin, sizeof begin, MSG_NOSIGNAL);
        if (count > 1)
                send(fd, bytes + 1, count - 1, MSG_NOSIGNAL);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        const struct http_limits limits = { .body_bytes = 4096,
                                            .buffered_bytes = 8192,
                                            .streams = 8 };
        struct held held = { 0 };
        const struct http_service service = { on_request, &held };
        struct http_server *server;
        struct loop *loop;
        int fds[2];

        if (loop_new(&loop) < 0 || http_server_new(loop, &limits, &service, &server) < 0 ||
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
                abort();
        if (http_server_accept(server, fds[0], NULL, count % 2) < 0)
                abort();
        feed(fds[1], bytes, count);
        steps(loop, fds[1], 6);
        if (count % 4 < 2)
                end_all(&held);
        steps(loop, fds[1], 4);
        if (count % 3 == 0)
                http_server_drain(server);
        close(fds[1]);
        for (unsigned i = 0; i < 4; i++)
                loop_step(loop, 0);
        end_all(&held);
        http_server_free(server);
        loop_free(loop);
}
