/* SPDX-License-Identifier: Apache-2.0 */
/* A call, and the loop until it has ended. */
#include "grpc_ask.h"

#include "message.h"
#include "str.h"

struct asking {
        struct loop *loop;
        struct grpc_reply reply;
};

/* The message is gone when we return; its bytes are what can be kept. */
static void on_answer(void *owner, const ProtobufCMessage *message)
{
        struct asking *asking = owner;
        struct str bytes = { 0 };

        if (!asking->reply.message && message_pack(message, &bytes) == 0)
                asking->reply.message = message_unpack(message->descriptor,
                                                       bytes.text ? bytes.text : "", bytes.length);
        str_done(&bytes);
}

static void on_end(void *owner, enum grpc_status status, const char *text)
{
        struct asking *asking = owner;

        asking->reply.status = status;
        str_copy(asking->reply.text, sizeof asking->reply.text,
                 text && *text ? text : grpc_status_name(status));
        loop_stop(asking->loop);
}

int grpc_ask(struct loop *loop, struct http_client *client,
             const struct grpc_request_options *options, struct grpc_reply *ret_reply)
{
        static const struct grpc_request_events events = { on_answer, on_end };
        struct asking asking = { .loop = loop };
        struct grpc_request *request;
        int r = grpc_client_call(loop, client, options, &events, &asking, &request);

        if (r == 0)
                r = loop_run(loop);
        if (r < 0 || asking.reply.status != GRPC_OK) {
                message_free(asking.reply.message);
                asking.reply.message = NULL;
        }
        if (r == 0)
                *ret_reply = asking.reply;
        return r;
}
