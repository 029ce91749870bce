/* SPDX-License-Identifier: Apache-2.0 */
/* peer_http: our HTTP server, to be tried by somebody else's clients.
 *
 * usage: peer_http plain ADDRESS                    until SIGTERM; prints "ready PORT"
 *        peer_http own ADDRESS FOLDER DAYS          TLS, own certificates; FOLDER/ca.pem is written
 *        peer_http files ADDRESS CERTIFICATE KEY    TLS, mounted files, looked at every 50 ms
 *
 * Echoes method, path, query and body; /late answers after 200 ms; /big sends a megabyte. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "file.h"
#include "http_server.h"
#include "list.h"
#include "loop_process.h"
#include "str.h"
#include "tls_keeper.h"

struct late {
        struct timer timer;
        struct http_exchange *exchange;
};

/* Signals and exchanges have no owner in common. */
static struct {
        struct loop *loop;
        struct http_server *server;
        struct timer end;
        unsigned requests;
} peer;

static void on_late(struct timer *timer)
{
        struct late *late = container_of(timer, struct late, timer);

        http_reply(late->exchange, 200, "text/plain", "late", 4);
        free(late);
}

static void echo(struct http_exchange *exchange)
{
        struct str answer = { 0 };
        size_t count;
        const char *body = http_body(exchange, &count);

        str_appendf(&answer, "%s %s h%d ", http_method(exchange), http_path(exchange),
                    http_is_h2(exchange) ? 2 : 1);
        str_append_bytes(&answer, body, count);
        http_reply(exchange, 200, "text/plain", answer.text, answer.length);
        str_done(&answer);
}

static void on_request(void *owner, struct http_exchange *exchange)
{
        static char big[1 << 20];
        struct late *late;

        (void)owner;
        peer.requests++;
        if (http_fault(exchange))
                return http_reply(exchange, http_fault(exchange), "text/plain", "no", 2);
        if (strcmp(http_path(exchange), "/big") == 0)
                return http_reply(exchange, 200, "text/plain", big, sizeof big);
        if (strcmp(http_path(exchange), "/late") != 0)
                return echo(exchange);
        late = calloc(1, sizeof *late);
        late->timer.on_due = on_late;
        late->exchange = exchange;
        loop_timer_set(peer.loop, &late->timer, 200 * NS_PER_MS);
}

static void on_end_check(struct timer *timer)
{
        if (http_server_connections(peer.server) == 0)
                loop_stop(peer.loop);
        else
                loop_timer_set(peer.loop, timer, 10 * NS_PER_MS);
}

static void on_signal(struct loop_signals *signals, int number)
{
        (void)signals;
        (void)number;
        http_server_drain(peer.server);
        loop_timer_set(peer.loop, &peer.end, 0);
}

static void on_change(void *owner, const struct err *e)
{
        (void)owner;
        printf("changed%s%s\n", e ? ": " : "", e ? e->text : "");
        fflush(stdout);
}

static int keep(char *argv[], struct tls_keeper **ret_keeper, struct err *e)
{
        static const char *const names[] = { "localhost", "127.0.0.1", "vgpu.test.svc", NULL };
        struct tls_keeper_options options = { .poll_ms = 50, .on_change = on_change };
        struct tls_pair authority = { 0 };
        char path[512];
        int r;

        if (strcmp(argv[1], "files") == 0) {
                options.certificate_path = argv[3];
                options.key_path = argv[4];
                return tls_keeper_new(peer.loop, &options, ret_keeper, e);
        }
        r = tls_authority_make("test authority", 10, &authority, e);
        if (r == 0) {
                snprintf(path, sizeof path, "%s/ca.pem", argv[3]);
                r = file_replace(path, authority.certificate, strlen(authority.certificate), 0644);
                options.authority = &authority;
                options.names = names;
                options.days = (unsigned)atoi(argv[4]);
        }
        if (r == 0)
                r = tls_keeper_new(peer.loop, &options, ret_keeper, e);
        tls_pair_done(&authority);
        return r;
}

int main(int argc, char *argv[])
{
        const struct http_service service = { on_request, NULL };
        const struct http_limits limits = { .body_bytes = 1 << 20,
                                            .request_ms = 1000,
                                            .idle_ms = 3000 };
        struct loop_signals signals = { .on_signal = on_signal };
        struct tls_keeper *keeper = NULL;
        struct address address;
        struct err e = { 0 };
        sigset_t set;
        int r;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        peer.end.on_due = on_end_check;
        if (argc < 3 || address_parse(argv[2], &address, &e) < 0 || loop_new(&peer.loop) < 0)
                return 2;
        r = loop_signals_open(peer.loop, &signals, &set);
        if (r == 0 && argc > 4)
                r = keep(argv, &keeper, &e);
        if (r == 0)
                r = http_server_new(peer.loop, &limits, &service, &peer.server);
        if (r == 0)
                r = http_server_listen(peer.server, &address, 0600,
                                       keeper ? tls_keeper_context(keeper) : NULL, &e);
        if (r < 0) {
                fprintf(stderr, "peer_http: %s\n", e.text);
                return 1;
        }
        printf("ready %u\n", http_server_port(peer.server));
        fflush(stdout);
        loop_run(peer.loop);
        http_server_free(peer.server);
        tls_keeper_free(keeper);
        loop_signals_close(&signals);
        loop_free(peer.loop);
        return 0;
}
