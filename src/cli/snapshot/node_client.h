/* SPDX-License-Identifier: Apache-2.0 */
/* One call to vgpu-node over its socket. */
#pragma once

#include <stdbool.h>

#include "grpc_ask.h"

/* Is there an agent that this user may ask? */
bool node_client_is_there(void);

/* The answer is the caller's: message_free(reply->message). A sentence where there is none. */
int node_client_ask(const char *method, const ProtobufCMessage *request,
                    const ProtobufCMessageDescriptor *answer, struct grpc_reply *ret_reply,
                    struct err *e);
