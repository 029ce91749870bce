/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_server: gRPC methods, one row each; unary, or one request and a stream of answers. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "grpc_wire.h"
#include "http_server.h"

struct grpc_server;
struct grpc_call;

struct grpc_method {
        const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
        const ProtobufCMessageDescriptor *request;
        /* Answers now or later. The request is gone when it returns. */
        void (*serve)(void *owner, struct grpc_call *call, const ProtobufCMessage *request);
};

/* methods ends with a row without a path, and lives as long as the server. */
int grpc_server_new(struct loop *loop, const struct http_limits *limits,
                    const struct grpc_method *methods, void *owner,
                    struct grpc_server **ret_server);
/* Methods of another owner on the same sockets. -ENOSPC: of more than fit. */
int grpc_server_add(struct grpc_server *server, const struct grpc_method *methods, void *owner);
/* As http_server_listen(). */
int grpc_server_listen(struct grpc_server *server, const struct address *address, mode_t mode,
                       struct tls_context *tls, struct err *e);
unsigned grpc_server_port(const struct grpc_server *server); /* of its first TCP socket */
/* Stops listening; calls go on. For a socket whose file was deleted: listen again afterwards. */
void grpc_server_unlisten(struct grpc_server *server);

void grpc_server_free(struct grpc_server *server);

/* A call is the method's until it is answered or finished. If the client goes, or its deadline
 * passes, on_gone tells once; the call is then no more. */
void grpc_on_gone(struct grpc_call *call, void (*on_gone)(void *owner), void *owner);
int grpc_peer(const struct grpc_call *call, struct ucred *ret_peer); /* of a unix socket */

/* The only answer, and the end. */
void grpc_answer(struct grpc_call *call, const ProtobufCMessage *message);
/* One of a stream, of which a slow client gets the newest. */
int grpc_send(struct grpc_call *call, const ProtobufCMessage *message);
/* The end; text is for people, "" for GRPC_OK. */
void grpc_finish(struct grpc_call *call, enum grpc_status status, const char *text);
