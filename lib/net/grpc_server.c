/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC methods over the HTTP server. */
#include "grpc_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "message.h"

enum { SERVICES_MOST = 4 };

struct grpc_server {
        struct loop *loop;
        struct http_server *http;
        struct {
                const struct grpc_method *methods;
                void *owner;
        } services[SERVICES_MOST];
        unsigned service_count;
        struct list calls;
};

struct grpc_call {
        struct list link;
        struct grpc_server *server;
        struct http_exchange *exchange;
        struct timer deadline;
        void (*on_gone)(void *owner);
        void *gone_owner;
};

/* The end in gRPC's way: HTTP says 200, the status is a field after the messages. */
static void end_exchange(struct http_exchange *exchange, enum grpc_status status, const char *text)
{
        struct str encoded = { 0 };
        char number[12];

        snprintf(number, sizeof number, "%d", (int)status);
        http_add_field(exchange, "grpc-status", number);
        if (*text && grpc_message_encode(text, &encoded) == 0)
                http_add_field(exchange, "grpc-message", encoded.text);
        str_done(&encoded);
        http_end(exchange);
}

static void call_free(struct grpc_call *call)
{
        list_remove(&call->link);
        loop_timer_clear(call->server->loop, &call->deadline);
        free(call);
}

void grpc_finish(struct grpc_call *call, enum grpc_status status, const char *text)
{
        end_exchange(call->exchange, status, text);
        call_free(call);
}

/* Ended by us or by the client, not by the method: it must hear of it. */
static void call_abandon(struct grpc_call *call, enum grpc_status status, const char *text)
{
        void (*on_gone)(void *) = call->on_gone;
        void *owner = call->gone_owner;

        grpc_finish(call, status, text);
        if (on_gone)
                on_gone(owner);
}

static void on_client_gone(void *owner)
{
        call_abandon(owner, GRPC_CANCELLED, "");
}

static void on_deadline(struct timer *timer)
{
        call_abandon(container_of(timer, struct grpc_call, deadline), GRPC_DEADLINE_EXCEEDED,
                     "the deadline passed");
}

int grpc_send(struct grpc_call *call, const ProtobufCMessage *message)
{
        struct str frame = { 0 };
        int r = grpc_frame_begin(&frame);

        if (r == 0)
                r = message_pack(message, &frame);
        if (r == 0) {
                grpc_frame_end(&frame, 0);
                r = http_send_latest(call->exchange, frame.text, frame.length);
        }
        str_done(&frame);
        return r;
}

void grpc_answer(struct grpc_call *call, const ProtobufCMessage *message)
{
        if (grpc_send(call, message) < 0)
                grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        else
                grpc_finish(call, GRPC_OK, "");
}

void grpc_on_gone(struct grpc_call *call, void (*on_gone)(void *owner), void *owner)
{
        call->on_gone = on_gone;
        call->gone_owner = owner;
}

int grpc_peer(const struct grpc_call *call, struct ucred *ret_peer)
{
        return http_peer(call->exchange, ret_peer);
}

static const struct grpc_method *method_find(const struct grpc_server *server, const char *path,
                                             void **ret_owner)
{
        for (unsigned i = 0; i < server->service_count; i++)
                for (const struct grpc_method *method = server->services[i].methods; method->path;
                     method++)
                        if (strcmp(method->path, path) == 0) {
                                *ret_owner = server->services[i].owner;
                                return method;
                        }
        return NULL;
}

/* What is wrong with the request as gRPC, before any method sees it. */
static enum grpc_status refusal(const struct http_exchange *exchange,
                                const struct grpc_method *method, const char **ret_text)
{
        const char *encoding = http_field(exchange, "grpc-encoding");

        *ret_text = "the request is too large";
        if (http_fault(exchange) == 413 || http_fault(exchange) == 431)
                return GRPC_RESOURCE_EXHAUSTED;
        *ret_text = "the server is busy";
        if (http_fault(exchange) == 503)
                return GRPC_UNAVAILABLE;
        *ret_text = "the request did not arrive whole";
        if (http_fault(exchange))
                return GRPC_INTERNAL;
        *ret_text = "no such method";
        if (!method)
                return GRPC_UNIMPLEMENTED;
        *ret_text = "compressed messages are not understood";
        if (encoding && strcmp(encoding, "identity") != 0)
                return GRPC_UNIMPLEMENTED;
        return GRPC_OK;
}

/* *ret_request is the caller's to free. */
static enum grpc_status parse_request(const struct http_exchange *exchange,
                                      const struct grpc_method *method,
                                      ProtobufCMessage **ret_request, const char **ret_text)
{
        size_t body_count, count;
        const char *body = http_body(exchange, &body_count);
        const char *bytes;
        ProtobufCMessage *request;

        *ret_text = "the request is not one whole uncompressed message";
        if (grpc_frame_only(body, body_count, &bytes, &count) < 0)
                return GRPC_INTERNAL;
        *ret_text = "the request is no such message";
        request = message_unpack(method->request, bytes, count);
        if (!request)
                return GRPC_INTERNAL;
        *ret_request = request;
        return GRPC_OK;
}

static struct grpc_call *call_new(struct grpc_server *server, struct http_exchange *exchange)
{
        const char *timeout = http_field(exchange, "grpc-timeout");
        struct grpc_call *call = calloc(1, sizeof *call);
        uint64_t timeout_ns;

        if (!call)
                return NULL;
        call->server = server;
        call->exchange = exchange;
        call->deadline.on_due = on_deadline;
        list_append(&server->calls, &call->link);
        http_on_gone(exchange, on_client_gone, call);
        if (timeout && grpc_timeout_parse(timeout, &timeout_ns) == 0)
                loop_timer_set(server->loop, &call->deadline, timeout_ns);
        return call;
}

static void on_request(void *owner, struct http_exchange *exchange)
{
        struct grpc_server *server = owner;
        const char *type = http_field(exchange, "content-type");
        void *method_owner = NULL;
        const struct grpc_method *method = method_find(server, http_path(exchange), &method_owner);
        ProtobufCMessage *request = NULL;
        struct grpc_call *call;
        enum grpc_status status;
        const char *text;

        if (!http_is_h2(exchange) || !type || !str_starts_with(type, "application/grpc"))
                return http_reply(exchange, 415, "text/plain", "gRPC is spoken here\n", 20);
        http_start(exchange, 200, "application/grpc");
        status = refusal(exchange, method, &text);
        if (status == GRPC_OK)
                status = parse_request(exchange, method, &request, &text);
        if (status != GRPC_OK)
                return end_exchange(exchange, status, text);
        call = call_new(server, exchange);
        if (call)
                method->serve(method_owner, call, request);
        else
                end_exchange(exchange, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        message_free(request);
}

int grpc_server_new(struct loop *loop, const struct http_limits *limits,
                    const struct grpc_method *methods, void *owner, struct grpc_server **ret_server)
{
        struct grpc_server *server = calloc(1, sizeof *server);
        const struct http_service service = { on_request, server };
        int r = server ? http_server_new(loop, limits, &service, &server->http) : -ENOMEM;

        if (r < 0) {
                free(server);
                return r;
        }
        server->loop = loop;
        list_init(&server->calls);
        grpc_server_add(server, methods, owner);
        *ret_server = server;
        return 0;
}

int grpc_server_add(struct grpc_server *server, const struct grpc_method *methods, void *owner)
{
        const unsigned i = server->service_count;

        if (i == SERVICES_MOST)
                return -ENOSPC;
        server->services[i].methods = methods;
        server->services[i].owner = owner;
        server->service_count++;
        return 0;
}

int grpc_server_listen(struct grpc_server *server, const struct address *address, mode_t mode,
                       struct tls_context *tls, struct err *e)
{
        return http_server_listen(server->http, address, mode, tls, e);
}

unsigned grpc_server_port(const struct grpc_server *server)
{
        return http_server_port(server->http);
}

void grpc_server_unlisten(struct grpc_server *server)
{
        http_server_unlisten(server->http);
}

static void abandon_all(struct grpc_server *server)
{
        while (!list_is_empty(&server->calls))
                call_abandon(container_of(server->calls.next, struct grpc_call, link),
                             GRPC_UNAVAILABLE, "the server ends");
}

void grpc_server_free(struct grpc_server *server)
{
        if (!server)
                return;
        abandon_all(server);
        http_server_free(server->http);
        free(server);
}
