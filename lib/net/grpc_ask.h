/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_ask: one gRPC call, waited for. */
#pragma once

#include "grpc_client.h"

struct grpc_reply {
        enum grpc_status status;
        ProtobufCMessage *message; /* NULL unless the status is OK; the caller's, message_free() */
        char text[256];            /* what was said to a refusal, else the status's name */
};

/* The loop turns until the call has ended; nothing else may stop it. */
int grpc_ask(struct loop *loop, struct http_client *client,
             const struct grpc_request_options *options, struct grpc_reply *ret_reply);
