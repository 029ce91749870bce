/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_client: gRPC calls over an HTTP client: unary, or one request and a stream of answers. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "grpc_wire.h"
#include "http_client.h"

struct grpc_request;

struct grpc_request_options {
        const char *path; /* "/v1beta1.Registration/Register" */
        const ProtobufCMessage *message;
        const ProtobufCMessageDescriptor *answer;
        uint64_t timeout_ms; /* 0: none */
        size_t limit_bytes;  /* of one answer (4 MiB) */
};

struct grpc_request_events {
        void (*on_answer)(void *owner, const ProtobufCMessage *answer); /* gone when it returns */
        /* Exactly once, after which the request is no more. GRPC_UNAVAILABLE also stands for "no
         * connection"; text says more. */
        void (*on_end)(void *owner, enum grpc_status status, const char *text);
};

/* Nothing is told from inside this call. 0 or -ENOMEM. */
int grpc_client_call(struct loop *loop, struct http_client *client,
                     const struct grpc_request_options *options,
                     const struct grpc_request_events *events, void *owner,
                     struct grpc_request **ret_request);

/* Nothing is told any more, not even the end. */
void grpc_request_cancel(struct grpc_request *request);
