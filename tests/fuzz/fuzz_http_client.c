/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the HTTP and gRPC clients, as one server's bytes drive them. Every call ends exactly
 * once, unless it was cancelled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"
#include "deviceplugin.pb-c.h"
#include "fuzz.h"
#include "grpc_client.h"

const char *const fuzz_words[] = { "\0\0\4\10\0\0\0\0\0", "\0\0\10\7\0\0\0\0\0", "grpc-status",
                                   NULL };

enum { CALLS = 3 };

/* One socket for all inputs. */
static struct {
        struct address address;
        int fd;
} server;

/* On a name without a file: nothing stays behind, whenever the engine ends us. */
static void listen_once(void)
{
        struct sockaddr_un *un = (struct sockaddr_un *)&server.address.storage;

        if (server.fd > 0)
                return;
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path + 1, sizeof un->sun_path - 1, "vgpu-fuzz-%d", (int)getpid());
        server.address.length = sizeof *un;
        server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (bind(server.fd, (struct sockaddr *)un, sizeof *un) < 0 || listen(server.fd, 8) < 0)
                abort();
}

static void on_http_end(void *owner, const struct err *why, const struct fields *trailers)
{
        (void)why;
        fields_get(trailers, "grpc-status");
        ++*(unsigned *)owner;
}

static void on_grpc_end(void *owner, enum grpc_status status, const char *text)
{
        grpc_status_name(status);
        if (strlen(text) > 1 << 20)
                abort();
        ++*(unsigned *)owner;
}

static void call_all(struct loop *loop, struct http_client *client, unsigned ends[CALLS])
{
        static const struct http_call_events http_events = { .on_end = on_http_end };
        static const struct grpc_request_events grpc_events = { .on_end = on_grpc_end };
        V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
        const struct grpc_request_options grpc = {
                .path = "/a",
                .message = &empty.base,
                .answer = &v1beta1__list_and_watch_response__descriptor,
                .limit_bytes = 4096,
        };
        const struct http_call_request http = { .method = "GET", .path = "/b" };
        struct grpc_request *request;
        struct http_call *call;

        if (grpc_client_call(loop, client, &grpc, &grpc_events, &ends[0], &request) < 0 ||
            http_client_call(client, &http, &http_events, &ends[1], &call) < 0 ||
            grpc_client_call(loop, client, &grpc, &grpc_events, &ends[2], &request) < 0)
                abort();
        grpc_request_cancel(request); /* never told */
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        static const char settings[] = "\0\0\0\4\0\0\0\0";
        struct http_client_options options = { 0 };
        unsigned ends[CALLS] = { 0 };
        struct http_client *client;
        struct loop *loop;
        int fd;

        listen_once();
        options.address = server.address;
        if (loop_new(&loop) < 0 || http_client_new(loop, &options, &client) < 0)
                abort();
        call_all(loop, client, ends);
        for (unsigned i = 0; i < 3; i++)
                loop_step(loop, 0);
        fd = accept(server.fd, NULL, NULL);
        if (fd < 0)
                abort();
        send(fd, settings, sizeof settings, MSG_NOSIGNAL);
        send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        for (unsigned i = 0; i < 6; i++)
                loop_step(loop, 0);
        close(fd);
        for (unsigned i = 0; i < 4; i++)
                loop_step(loop, 0);
        http_client_free(client);
        if (ends[0] != 1 || ends[1] != 1 || ends[2] != 0)
                abort();
        loop_free(loop);
}
