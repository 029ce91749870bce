/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of a device plugin. For vGPUs Allocate gives nothing by itself: which share a container has
 * is known by its identity, at its start, and not by the slots that kubelet happened to take. It only marks
 * the container, so that vgpu-runtime does not start it without its share. A MIG device is the one that
 * kubelet took. GB of memory are counted, and come with nothing. */
#include "plugin_service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "container_paths.h"
#include "scope.h"
#include "str.h"

int plugin_service_init(struct plugin_service *service, const char *resource,
                        const struct offer *offer, const struct plugin_counsel *counsel)
{
        *service = (struct plugin_service){ .resource = resource,
                                            .kind = offer->kind,
                                            .counsel = *counsel };
        for (unsigned i = 0; i < WATCHERS_MOST; i++)
                service->watchers[i].service = service;
        return slots_copy(&offer->slots, &service->slots);
}

void plugin_service_done(struct plugin_service *service)
{
        slots_done(&service->slots);
}

bool plugin_service_wants_pre_start(const struct plugin_service *service)
{
        return (service->kind == OFFER_VGPU && service->counsel.pre_start) ||
               (service->kind == OFFER_MIG && service->counsel.starts);
}

bool plugin_service_is_heard(const struct plugin_service *service)
{
        for (unsigned i = 0; i < WATCHERS_MOST; i++)
                if (service->watchers[i].call)
                        return true;
        return false;
}

static void send_list(const struct plugin_service *service, struct grpc_call *call)
{
        V1beta1__ListAndWatchResponse *list = slots_list(&service->slots);

        if (list)
                grpc_send(call, &list->base);
        slots_list_free(list);
}

void plugin_service_set_offer(struct plugin_service *service, const struct offer *offer)
{
        struct slots slots;

        service->kind = offer->kind;
        /* Without memory they stay as they are until the next change. */
        if (slots_is_equal(&service->slots, &offer->slots) || slots_copy(&offer->slots, &slots) < 0)
                return;
        slots_done(&service->slots);
        service->slots = slots;
        for (unsigned i = 0; i < WATCHERS_MOST; i++)
                if (service->watchers[i].call)
                        send_list(service, service->watchers[i].call);
}

static void serve_options(void *owner, struct grpc_call *call, const ProtobufCMessage *request)
{
        const struct plugin_service *service = owner;
        V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

        (void)request;
        options.pre_start_required = plugin_service_wants_pre_start(service);
        grpc_answer(call, &options.base);
}

static void on_watcher_gone(void *owner)
{
        ((struct plugin_watcher *)owner)->call = NULL;
}

static void serve_list(void *owner, struct grpc_call *call, const ProtobufCMessage *request)
{
        struct plugin_service *service = owner;

        (void)request;
        for (unsigned i = 0; i < WATCHERS_MOST; i++) {
                struct plugin_watcher *watcher = &service->watchers[i];

                if (watcher->call)
                        continue;
                watcher->call = call;
                grpc_on_gone(call, on_watcher_gone, watcher);
                return send_list(service, call);
        }
        grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many clients watch already");
}

/* Every id must be one of ours; the first that is not, or NULL. */
static const char *stranger(const struct plugin_service *service,
                            const V1beta1__AllocateRequest *request)
{
        for (size_t i = 0; i < request->n_container_requests; i++) {
                const V1beta1__ContainerAllocateRequest *container = request->container_requests[i];

                for (size_t j = 0; j < container->n_devices_ids; j++)
                        if (!slots_has(&service->slots, container->devices_ids[j]))
                                return container->devices_ids[j];
        }
        return NULL;
}

/* One container's answer, and what it points to. */
struct response {
        V1beta1__ContainerAllocateResponse answer;
        V1beta1__StringPair mark, visible, *marks[1], *visibles[1];
        char *ids;
};

/* For runtimes that go by it; vgpu-runtime asks whose container it is, and comes to the same. */
static int response_add_devices(struct response *response,
                                const V1beta1__ContainerAllocateRequest *container)
{
        struct str ids = { 0 };

        for (size_t i = 0; i < container->n_devices_ids; i++)
                if (str_appendf(&ids, "%s%s", i ? "," : "", container->devices_ids[i]) < 0) {
                        str_done(&ids);
                        return -ENOMEM;
                }
        response->ids = ids.text;
        v1beta1__string_pair__init(&response->visible);
        response->visible.key = (char *)"NVIDIA_VISIBLE_DEVICES";
        response->visible.value = response->ids ? response->ids : (char *)"void";
        response->visibles[0] = &response->visible;
        response->answer.envs = response->visibles;
        response->answer.n_envs = 1;
        return 0;
}

static int response_fill(const struct plugin_service *service, struct response *response,
                         const V1beta1__ContainerAllocateRequest *container)
{
        v1beta1__container_allocate_response__init(&response->answer);
        if (service->kind == OFFER_MEMORY)
                return 0;
        v1beta1__string_pair__init(&response->mark);
        response->mark.key = (char *)ANNOTATION_REQUESTED;
        response->mark.value = (char *)service->resource;
        response->marks[0] = &response->mark;
        response->answer.annotations = response->marks;
        response->answer.n_annotations = 1;
        return service->kind == OFFER_MIG ? response_add_devices(response, container) : 0;
}

static void answer_allocate(const struct plugin_service *service, struct grpc_call *call,
                            const V1beta1__AllocateRequest *request)
{
        const size_t count = request->n_container_requests;
        V1beta1__AllocateResponse answer = V1BETA1__ALLOCATE_RESPONSE__INIT;
        autofree struct response *responses = calloc(count + 1, sizeof *responses);
        autofree V1beta1__ContainerAllocateResponse **answers = calloc(count + 1, sizeof *answers);
        int r = responses && answers ? 0 : -ENOMEM;

        for (size_t i = 0; i < count && r == 0; i++) {
                r = response_fill(service, &responses[i], request->container_requests[i]);
                answers[i] = &responses[i].answer;
        }
        answer.container_responses = answers;
        answer.n_container_responses = count;
        if (r == 0)
                grpc_answer(call, &answer.base);
        else
                grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        for (size_t i = 0; responses && i < count; i++)
                free(responses[i].ids);
}

/* The first that is held under another name, or NULL. */
static const char *held_elsewhere(const struct plugin_service *service,
                                  const V1beta1__AllocateRequest *request, const char **ret_holder)
{
        for (size_t i = 0; i < request->n_container_requests; i++) {
                const V1beta1__ContainerAllocateRequest *container = request->container_requests[i];

                for (size_t j = 0; j < container->n_devices_ids; j++) {
                        *ret_holder = mig_claims_holder(service->counsel.claims,
                                                        container->devices_ids[j]);
                        if (*ret_holder && strcmp(*ret_holder, service->resource) != 0)
                                return container->devices_ids[j];
                }
        }
        return NULL;
}

/* Without memory for a claim kubelet's list will make it. */
static void claim(struct plugin_service *service, const V1beta1__AllocateRequest *request)
{
        for (size_t i = 0; i < request->n_container_requests; i++) {
                const V1beta1__ContainerAllocateRequest *container = request->container_requests[i];

                for (size_t j = 0; j < container->n_devices_ids; j++)
                        mig_claims_take(service->counsel.claims, container->devices_ids[j],
                                        service->resource, clock_now_ns());
        }
        service->counsel.on_taken(service->counsel.owner);
}

static void serve_allocate(void *owner, struct grpc_call *call, const ProtobufCMessage *message)
{
        struct plugin_service *service = owner;
        const V1beta1__AllocateRequest *request = (const void *)message;
        const bool is_claimed = service->kind == OFFER_MIG && service->counsel.claims;
        const char *id = stranger(service, request), *holder;
        char text[256];

        if (id) {
                snprintf(text, sizeof text, "'%.60s' is not a %s of this node", id,
                         service->resource);
                return grpc_finish(call, GRPC_INVALID_ARGUMENT, text);
        }
        id = is_claimed ? held_elsewhere(service, request, &holder) : NULL;
        if (id) {
                snprintf(text, sizeof text, "'%.60s' is in use already, as %s", id, holder);
                return grpc_finish(call, GRPC_FAILED_PRECONDITION, text);
        }
        if (is_claimed)
                claim(service, request);
        answer_allocate(service, call, request);
}

static void serve_pre_start(void *owner, struct grpc_call *call, const ProtobufCMessage *message)
{
        struct plugin_service *service = owner;
        const V1beta1__PreStartContainerRequest *request = (const void *)message;
        const V1beta1__PreStartContainerResponse answer =
                V1BETA1__PRE_START_CONTAINER_RESPONSE__INIT;

        if (service->kind == OFFER_VGPU && service->counsel.pre_start)
                return pre_start_serve(service->counsel.pre_start, call, service->resource,
                                       request->devices_ids, request->n_devices_ids);
        if (service->kind == OFFER_MIG && service->counsel.starts)
                mig_starts_note(service->counsel.starts, service->resource, request->devices_ids,
                                request->n_devices_ids, clock_now_ns());
        grpc_answer(call, &answer.base);
}

const struct grpc_method plugin_service_methods[] = {
        { "/v1beta1.DevicePlugin/GetDevicePluginOptions", &v1beta1__empty__descriptor,
          serve_options },
        { "/v1beta1.DevicePlugin/ListAndWatch", &v1beta1__empty__descriptor, serve_list },
        { "/v1beta1.DevicePlugin/Allocate", &v1beta1__allocate_request__descriptor,
          serve_allocate },
        { "/v1beta1.DevicePlugin/PreStartContainer",
          &v1beta1__pre_start_container_request__descriptor, serve_pre_start },
        { 0 },
};
