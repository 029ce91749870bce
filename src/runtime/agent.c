/* SPDX-License-Identifier: Apache-2.0 */
/* agent: one call at a time, again until it is answered. */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "grpc_ask.h"
#include "message.h"
#include "str.h"

enum { PAUSE_MS = 50, ANSWER_BYTES = 256 * 1024 };

struct call {
        struct loop *loop;
        struct http_client *client;
        struct grpc_reply reply;
};

static int ask_once(struct call *call, const ProtobufCMessage *message, uint64_t timeout_ms)
{
        const struct grpc_request_options options = {
                .path = "/vgpu.v1.Allocations/Get",
                .message = message,
                .answer = &vgpu__v1__get_allocation_response__descriptor,
                .timeout_ms = timeout_ms,
                .limit_bytes = ANSWER_BYTES,
        };

        return grpc_ask(call->loop, call->client, &options, &call->reply);
}

static void pause_ms(unsigned ms)
{
        nanosleep(&(struct timespec){ .tv_nsec = (long)(ms * NS_PER_MS) }, NULL);
}

static int ask_until(struct call *call, const ProtobufCMessage *message, unsigned wait_ms,
                     bool is_patient)
{
        const uint64_t end_ns = clock_now_ns() + wait_ms * NS_PER_MS;

        for (;;) {
                const uint64_t now_ns = clock_now_ns();
                const uint64_t left_ms = now_ns < end_ns ? (end_ns - now_ns) / NS_PER_MS : 0;
                const int r = ask_once(call, message, left_ms ? left_ms : 1);

                if (r < 0 || call->reply.status != GRPC_UNAVAILABLE || !is_patient ||
                    left_ms <= PAUSE_MS)
                        return r;
                pause_ms(PAUSE_MS);
        }
}

static int outcome(const struct call *call, const char *socket, unsigned wait_ms, struct err *e)
{
        switch (call->reply.status) {
        case GRPC_OK:
                if (call->reply.message)
                        return 0;
                return err_set(e, -EBADMSG, "vgpu-node at '%.80s' gave no answer", socket);
        case GRPC_NOT_FOUND:
                return err_set(e, -ENOENT, "%s", call->reply.text);
        case GRPC_UNAVAILABLE:
        case GRPC_DEADLINE_EXCEEDED:
                return err_set(e, -EAGAIN, "vgpu-node did not answer within %g s (%.120s)",
                               wait_ms / 1000.0, call->reply.text);
        default:
                return err_set(e, -EPROTO, "vgpu-node: %s", call->reply.text);
        }
}

int agent_ask(const char *socket, unsigned wait_ms, bool is_patient,
              const struct pod_identity *identity, const char *container_id,
              Vgpu__V1__GetAllocationResponse **ret_answer, struct err *e)
{
        struct http_client_options where = { 0 };
        struct call call = { 0 };
        Vgpu__V1__Container container = VGPU__V1__CONTAINER__INIT;
        Vgpu__V1__GetAllocationRequest request = VGPU__V1__GET_ALLOCATION_REQUEST__INIT;
        char address[160];

        container.pod_uid = (char *)identity->pod_uid;
        container.namespace_ = (char *)identity->pod_namespace;
        container.pod = (char *)identity->pod;
        container.container = (char *)identity->container;
        request.container = &container;
        request.container_id = (char *)container_id;
        snprintf(address, sizeof address, "unix:%s", socket);
        int r = address_parse(address, &where.address, e);
        if (r < 0)
                return r;
        r = loop_new(&call.loop);
        if (r == 0)
                r = http_client_new(call.loop, &where, &call.client);
        if (r == 0)
                r = ask_until(&call, &request.base, wait_ms, is_patient);
        http_client_free(call.client);
        loop_free(call.loop);
        if (r == 0)
                r = outcome(&call, socket, wait_ms, e);
        else
                err_set(e, r, "cannot ask vgpu-node: %s", strerror(-r));
        if (r == 0)
                *ret_answer = (Vgpu__V1__GetAllocationResponse *)call.reply.message;
        else
                message_free(call.reply.message);
        return r;
}
