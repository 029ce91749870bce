/* SPDX-License-Identifier: Apache-2.0 */
/* A call, and the loop until it has ended. */
#include "grpc_ask.h"

#include "message.h"
#include "str.h"

struct call {
        struct loop *loop;
        struct grpc_reply reply;
};

/* The message is gone when we return; its bytes are what can be kept. */
static void on_answer(void *owner, const ProtobufCMessage *message)
{
        struct call *call = owner;
        struct str bytes = { 0 };

        if (!call->reply.message && message_pack(message, &bytes) == 0)
                call->reply.message = message_unpack(message->descriptor,
                                                     bytes.text ? bytes.text : "", bytes.length);
        str_done(&bytes);
}

static void on_end(void *owner, enum grpc_status status, const char *text)
{
        struct call *call = owner;

        call->reply.status = status;
        str_copy(call->reply.text, sizeof call->reply.text,
                 text && *text ? text : grpc_status_name(status));
        loop_stop(call->loop);
}

int grpc_ask(struct loop *loop, struct http_client *client,
             const struct grpc_request_options *options, struct grpc_reply *ret_reply)
{
        static const struct grpc_request_events events = { on_answer, on_end };
        struct call call = { .loop = loop };
        struct grpc_request *request;
        int r = grpc_client_call(loop, client, options, &events, &call, &request);

        if (r == 0)
                r = loop_run(loop);
        if (r < 0 || call.reply.status != GRPC_OK) {
                message_free(call.reply.message);
                call.reply.message = NULL;
        }
        if (r == 0)
                *ret_reply = call.reply;
        return r;
}
