/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC from the asking side. */
#include "grpc_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "list.h"
#include "message.h"

struct grpc_request {
        struct loop *loop;
        struct http_call *call;
        struct timer deadline;
        struct grpc_request_events events;
        void *owner;
        const ProtobufCMessageDescriptor *answer;
        struct grpc_reader reader;
        enum grpc_status status; /* from the head, or ours */
        char *text;
        int http_status;
        bool has_status;
        bool is_taking, is_cancelled; /* an owner may cancel while it is told of an answer */
};

static void request_free(struct grpc_request *request)
{
        loop_timer_clear(request->loop, &request->deadline);
        grpc_reader_done(&request->reader);
        free(request->text);
        free(request);
}

static void request_end(struct grpc_request *request, enum grpc_status status, const char *text)
{
        if (request->events.on_end)
                request->events.on_end(request->owner, status, text);
        request_free(request);
}

/* Ends it from our side. */
static void request_break(struct grpc_request *request, enum grpc_status status, const char *text)
{
        http_call_cancel(request->call);
        request_end(request, status, text);
}

static void on_deadline(struct timer *timer)
{
        request_break(container_of(timer, struct grpc_request, deadline), GRPC_DEADLINE_EXCEEDED,
                      "no answer in time");
}

static void take_status(struct grpc_request *request, const struct fields *fields)
{
        const char *status = fields_get(fields, "grpc-status");
        const char *text = fields_get(fields, "grpc-message");

        if (!status || request->has_status)
                return;
        request->has_status = true;
        request->status = grpc_status_parse(status);
        request->text = text ? strdup(text) : NULL;
        if (request->text)
                grpc_message_decode(request->text);
}

static void on_head(void *owner, int status, const struct fields *head)
{
        struct grpc_request *request = owner;

        request->http_status = status;
        take_status(request, head);
}

static int on_message(void *owner, const void *bytes, size_t count)
{
        struct grpc_request *request = owner;
        ProtobufCMessage *answer = message_unpack(request->answer, bytes, count);

        if (!answer)
                return -EBADMSG;
        if (request->events.on_answer)
                request->events.on_answer(request->owner, answer);
        message_free(answer);
        return request->is_cancelled ? -ECANCELED : 0;
}

static void on_data(void *owner, const uint8_t *bytes, size_t count)
{
        struct grpc_request *request = owner;
        int r;

        if (request->http_status != 200)
                return; /* a page for people */
        request->is_taking = true;
        r = grpc_reader_take(&request->reader, bytes, count, on_message, request);
        request->is_taking = false;
        if (request->is_cancelled)
                request_free(request);
        else if (r < 0)
                request_break(request, r == -EMSGSIZE ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL,
                              r == -EMSGSIZE ? "the answer is too large"
                                             : "the answer is not understood");
}

static void on_end(void *owner, const struct err *why, const struct fields *trailers)
{
        struct grpc_request *request = owner;

        take_status(request, trailers);
        if (request->has_status)
                request_end(request, request->status, request->text ? request->text : "");
        else if (why->code < 0)
                request_end(request, GRPC_UNAVAILABLE, why->text);
        else
                request_end(request, grpc_status_of_http(request->http_status),
                            "the peer answers, but not with gRPC");
}

static int request_submit(struct grpc_request *request, struct http_client *client,
                          const struct grpc_request_options *options, const struct str *body)
{
        static const struct http_call_events events = { on_head, on_data, on_end };
        struct fields fields = { 0 };
        struct http_call_request call = { .method = "POST",
                                          .path = options->path,
                                          .fields = &fields,
                                          .body = body->text,
                                          .body_count = body->length };
        char timeout[16];
        int r = fields_add(&fields, "content-type", 12, "application/grpc", 16);

        if (r == 0)
                r = fields_add(&fields, "te", 2, "trailers", 8);
        if (r == 0 && options->timeout_ms) {
                grpc_timeout_format(options->timeout_ms, timeout);
                r = fields_add(&fields, "grpc-timeout", 12, timeout, strlen(timeout));
        }
        if (r == 0)
                r = http_client_call(client, &call, &events, request, &request->call);
        fields_done(&fields);
        return r;
}

int grpc_client_call(struct loop *loop, struct http_client *client,
                     const struct grpc_request_options *options,
                     const struct grpc_request_events *events, void *owner,
                     struct grpc_request **ret_request)
{
        struct grpc_request *request = calloc(1, sizeof *request);
        struct str body = { 0 };
        int r = request ? grpc_frame_begin(&body) : -ENOMEM;

        if (r == 0)
                r = message_pack(options->message, &body);
        if (r == 0) {
                grpc_frame_end(&body, 0);
                request->loop = loop;
                request->events = *events;
                request->owner = owner;
                request->answer = options->answer;
                request->reader.limit_bytes = options->limit_bytes ?: 4 << 20;
                request->deadline.on_due = on_deadline;
                r = request_submit(request, client, options, &body);
        }
        str_done(&body);
        if (r < 0) {
                free(request);
                return r;
        }
        if (options->timeout_ms)
                loop_timer_set(loop, &request->deadline, options->timeout_ms * NS_PER_MS);
        *ret_request = request;
        return 0;
}

void grpc_request_cancel(struct grpc_request *request)
{
        http_call_cancel(request->call);
        request->is_cancelled = true;
        if (!request->is_taking)
                request_free(request);
}
