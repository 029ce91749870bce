/* agent: one call at a time, again until it is answered. */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "grpc_client.h"
#include "message.h"
#include "str.h"

enum { PAUSE_MS = 50, ANSWER_BYTES = 256 * 1024 };

struct asking {
        struct loop *loop;
        Vgpu__V1__GetAllocationResponse *answer;
        enum grpc_status status;
        char text[160];
};

static void on_answer(void *owner, const ProtobufCMessage *message)
{
        struct asking *asking = owner;
        struct str bytes = { 0 };

        /* The message is gone when we return; its bytes are what can be kept. */
        if (!asking->answer && message_pack(message, &bytes) == 0)
                asking->answer = (Vgpu__V1__GetAllocationResponse *)message_unpack(
                        message->descriptor, bytes.text ? bytes.text : "", bytes.length);
        str_done(&bytes);
}

static void on_end(void *owner, enum grpc_status status, const char *text)
{
        struct asking *asking = owner;

        asking->status = status;
        str_copy(asking->text, sizeof asking->text,
                 text && *text ? text : grpc_status_name(status));
        loop_stop(asking->loop);
}

static int ask_once(struct asking *asking, struct http_client *client,
                    const ProtobufCMessage *message, uint64_t timeout_ms)
{
        static const struct grpc_request_events events = { on_answer, on_end };
        const struct grpc_request_options options = {
                .path = "/vgpu.v1.Allocations/Get",
                .message = message,
                .answer = &vgpu__v1__get_allocation_response__descriptor,
                .timeout_ms = timeout_ms,
                .limit_bytes = ANSWER_BYTES,
        };
        struct grpc_request *request;
        const int r = grpc_client_call(asking->loop, client, &options, &events, asking, &request);

        return r < 0 ? r : loop_run(asking->loop);
}

static void pause_ms(unsigned ms)
{
        nanosleep(&(struct timespec){ .tv_nsec = (long)(ms * NS_PER_MS) }, NULL);
}

static int ask_until(struct asking *asking, struct http_client *client,
                     const ProtobufCMessage *message, unsigned wait_ms, bool is_patient)
{
        const uint64_t end_ns = clock_now_ns() + wait_ms * NS_PER_MS;

        for (;;) {
                const uint64_t now_ns = clock_now_ns();
                const uint64_t left_ms = now_ns < end_ns ? (end_ns - now_ns) / NS_PER_MS : 0;
                const int r = ask_once(asking, client, message, left_ms ? left_ms : 1);

                if (r < 0 || asking->status != GRPC_UNAVAILABLE || !is_patient ||
                    left_ms <= PAUSE_MS)
                        return r;
                pause_ms(PAUSE_MS);
        }
}

static int outcome(const struct asking *asking, const char *socket, unsigned wait_ms, struct err *e)
{
        switch (asking->status) {
        case GRPC_OK:
                if (asking->answer)
                        return 0;
                return err_set(e, -EBADMSG, "vgpu-node at '%.80s' gave no answer", socket);
        case GRPC_NOT_FOUND:
                return err_set(e, -ENOENT, "%s", asking->text);
        case GRPC_UNAVAILABLE:
        case GRPC_DEADLINE_EXCEEDED:
                return err_set(e, -EAGAIN, "vgpu-node did not answer within %g s (%.120s)",
                               wait_ms / 1000.0, asking->text);
        default:
                return err_set(e, -EPROTO, "vgpu-node: %s", asking->text);
        }
}

int agent_ask(const char *socket, unsigned wait_ms, bool is_patient,
              const struct pod_identity *identity, Vgpu__V1__GetAllocationResponse **ret_answer,
              struct err *e)
{
        struct http_client_options where = { 0 };
        struct asking asking = { 0 };
        struct http_client *client = NULL;
        Vgpu__V1__Container container = VGPU__V1__CONTAINER__INIT;
        Vgpu__V1__GetAllocationRequest request = VGPU__V1__GET_ALLOCATION_REQUEST__INIT;
        char address[160];

        container.pod_uid = (char *)identity->pod_uid;
        container.namespace_ = (char *)identity->pod_namespace;
        container.pod = (char *)identity->pod;
        container.container = (char *)identity->container;
        request.container = &container;
        snprintf(address, sizeof address, "unix:%s", socket);
        int r = address_parse(address, &where.address, e);
        if (r < 0)
                return r;
        r = loop_new(&asking.loop);
        if (r == 0)
                r = http_client_new(asking.loop, &where, &client);
        if (r == 0)
                r = ask_until(&asking, client, &request.base, wait_ms, is_patient);
        http_client_free(client);
        loop_free(asking.loop);
        if (r == 0)
                r = outcome(&asking, socket, wait_ms, e);
        else
                err_set(e, r, "cannot ask vgpu-node: %s", strerror(-r));
        if (r == 0)
                *ret_answer = asking.answer;
        else
                message_free((ProtobufCMessage *)asking.answer);
        return r;
}
