/* SPDX-License-Identifier: Apache-2.0 */
/* One question after the other, at a pace that costs neither side anything. */
#include "offered_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "grpc_client.h"
#include "list.h"

enum { PACE_S = 20, ANSWER_MS = 5000, ANSWER_BYTES = 16 << 20 };

struct offered_check {
        struct loop *loop;
        struct http_client *kubelet;
        struct grpc_request *request; /* under way */
        struct timer pace;
        void (*on_offered)(void *owner, const V1__AllocatableResourcesResponse *offered);
        void *owner;
};

static void on_answer(void *owner, const ProtobufCMessage *answer)
{
        struct offered_check *check = owner;

        check->on_offered(check->owner, (const V1__AllocatableResourcesResponse *)answer);
}

static void on_end(void *owner, enum grpc_status status, const char *text)
{
        struct offered_check *check = owner;

        (void)status; /* an old kubelet does not know the question; one that is away is asked again */
        (void)text;
        check->request = NULL;
        http_client_hang_up(check->kubelet);
}

static void on_pace(struct timer *timer)
{
        static const struct grpc_request_events events = { on_answer, on_end };
        struct offered_check *check = container_of(timer, struct offered_check, pace);
        V1__AllocatableResourcesRequest message = V1__ALLOCATABLE_RESOURCES_REQUEST__INIT;
        const struct grpc_request_options call = {
                .path = "/v1.PodResourcesLister/GetAllocatableResources",
                .message = &message.base,
                .answer = &v1__allocatable_resources_response__descriptor,
                .timeout_ms = ANSWER_MS,
                .limit_bytes = ANSWER_BYTES,
        };

        if (grpc_client_call(check->loop, check->kubelet, &call, &events, check, &check->request) <
            0)
                check->request = NULL;
        loop_timer_set(check->loop, timer, PACE_S * NS_PER_S);
}

int offered_check_new(struct loop *loop, const char *path,
                      void (*on_offered)(void *owner,
                                         const V1__AllocatableResourcesResponse *offered),
                      void *owner, struct offered_check **ret_check)
{
        struct offered_check *check = calloc(1, sizeof *check);
        struct http_client_options options = { 0 };
        char text[160];
        int r;

        if (!check)
                return -ENOMEM;
        *check = (struct offered_check){
                .loop = loop, .pace.on_due = on_pace, .on_offered = on_offered, .owner = owner
        };
        snprintf(text, sizeof text, "unix:%s", path);
        r = address_parse(text, &options.address, NULL);
        if (r == 0)
                r = http_client_new(loop, &options, &check->kubelet);
        if (r < 0) {
                offered_check_free(check);
                return r;
        }
        loop_timer_set(loop, &check->pace, PACE_S * NS_PER_S);
        *ret_check = check;
        return 0;
}

void offered_check_free(struct offered_check *check)
{
        if (!check)
                return;
        loop_timer_clear(check->loop, &check->pace);
        if (check->request)
                grpc_request_cancel(check->request);
        http_client_free(check->kubelet);
        free(check);
}

bool offered_check_has(const V1__AllocatableResourcesResponse *offered, const char *resource)
{
        for (size_t i = 0; i < offered->n_devices; i++)
                if (offered->devices[i]->n_device_ids > 0 &&
                    strcmp(offered->devices[i]->resource_name, resource) == 0)
                        return true;
        return false;
}
