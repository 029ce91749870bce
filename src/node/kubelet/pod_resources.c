/* SPDX-License-Identifier: Apache-2.0 */
/* One call at a time: kubelet takes few a second. Whoever asks while one is under way waits for the next,
 * since that one may have been answered before. */
#include "pod_resources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grpc_client.h"
#include "vec.h"

enum { LIST_MS = 5000, LIST_BYTES = 16 << 20 };

struct asker {
        void (*on_list)(void *owner, const V1__ListPodResourcesResponse *list, const char *text);
        void *owner; /* NULL: it is no longer interested */
};

struct pod_resources {
        struct loop *loop;
        struct http_client *kubelet;
        struct grpc_request *request; /* under way */
        struct vec current, waiting;  /* of struct asker: those of the call, those of the next */
};

static void pod_resources_ask(struct pod_resources *source);

static void deliver(struct pod_resources *source, const V1__ListPodResourcesResponse *list,
                    const char *text)
{
        for (size_t i = 0; i < source->current.count; i++) {
                struct asker *asker = vec_at(&source->current, i);

                if (asker->owner)
                        asker->on_list(asker->owner, list, text);
        }
        vec_done(&source->current);
}

static void on_answer(void *owner, const ProtobufCMessage *answer)
{
        deliver(owner, (const V1__ListPodResourcesResponse *)answer, "");
}

static void on_end(void *owner, enum grpc_status status, const char *text)
{
        struct pod_resources *source = owner;

        source->request = NULL;
        deliver(source, NULL, text && *text ? text : grpc_status_name(status));
        if (source->waiting.count)
                pod_resources_ask(source);
}

static void pod_resources_ask(struct pod_resources *source)
{
        static const struct grpc_request_events events = { on_answer, on_end };
        V1__ListPodResourcesRequest message = V1__LIST_POD_RESOURCES_REQUEST__INIT;
        const struct grpc_request_options call = {
                .path = "/v1.PodResourcesLister/List",
                .message = &message.base,
                .answer = &v1__list_pod_resources_response__descriptor,
                .timeout_ms = LIST_MS,
                .limit_bytes = LIST_BYTES,
        };
        const struct vec empty = source->current;

        source->current = source->waiting;
        source->waiting = empty;
        if (grpc_client_call(source->loop, source->kubelet, &call, &events, source,
                             &source->request) < 0) {
                source->request = NULL;
                deliver(source, NULL, "out of memory");
        }
}

int pod_resources_list(struct pod_resources *source,
                       void (*on_list)(void *owner, const V1__ListPodResourcesResponse *list,
                                       const char *text),
                       void *owner)
{
        const struct asker asker = { on_list, owner };
        const int r = vec_push(&source->waiting, &asker);

        if (r == 0 && !source->request)
                pod_resources_ask(source);
        return r;
}

static void forget_in(struct vec *askers, const void *owner)
{
        for (size_t i = 0; i < askers->count; i++) {
                struct asker *asker = vec_at(askers, i);

                if (asker->owner == owner)
                        asker->owner = NULL;
        }
}

void pod_resources_forget(struct pod_resources *source, const void *owner)
{
        forget_in(&source->current, owner);
        forget_in(&source->waiting, owner);
}

int pod_resources_new(struct loop *loop, const char *path, struct pod_resources **ret_source)
{
        struct pod_resources *source = calloc(1, sizeof *source);
        struct http_client_options options = { 0 };
        char text[160];
        int r;

        if (!source)
                return -ENOMEM;
        source->loop = loop;
        source->current = source->waiting = (struct vec)VEC_OF(struct asker);
        snprintf(text, sizeof text, "unix:%s", path);
        r = address_parse(text, &options.address, NULL);
        if (r == 0)
                r = http_client_new(loop, &options, &source->kubelet);
        if (r < 0)
                free(source);
        else
                *ret_source = source;
        return r;
}

void pod_resources_free(struct pod_resources *source)
{
        if (!source)
                return;
        if (source->request)
                grpc_request_cancel(source->request);
        http_client_free(source->kubelet);
        vec_done(&source->current);
        vec_done(&source->waiting);
        free(source);
}
