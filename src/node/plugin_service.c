/* The methods of a device plugin. Allocate gives nothing by itself: which share a container has is
 * known by its identity, at its start, and not by the slots that kubelet happened to take. It only marks
 * the container, so that vgpu-runtime does not start it without its share. */
#include "plugin_service.h"

#include <stdio.h>
#include <stdlib.h>

#include "container_place.h"

void plugin_service_init(struct plugin_service *service, const char *resource,
                         const struct slots *slots)
{
        *service = (struct plugin_service){ .resource = resource, .slots = *slots };
        for (unsigned i = 0; i < WATCHERS_MOST; i++)
                service->watchers[i].service = service;
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

void plugin_service_set_slots(struct plugin_service *service, const struct slots *slots)
{
        service->slots = *slots;
        for (unsigned i = 0; i < WATCHERS_MOST; i++)
                if (service->watchers[i].call)
                        send_list(service, service->watchers[i].call);
}

static void serve_options(void *owner, struct grpc_call *call, const ProtobufCMessage *request)
{
        V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

        (void)owner;
        (void)request;
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
        grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many listen already");
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

static void serve_allocate(void *owner, struct grpc_call *call, const ProtobufCMessage *message)
{
        struct plugin_service *service = owner;
        const V1beta1__AllocateRequest *request = (const void *)message;
        V1beta1__AllocateResponse answer = V1BETA1__ALLOCATE_RESPONSE__INIT;
        V1beta1__ContainerAllocateResponse marked = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
        V1beta1__StringPair mark = V1BETA1__STRING_PAIR__INIT, *marks[] = { &mark };
        const char *id = stranger(service, request);
        char text[160];

        if (id) {
                snprintf(text, sizeof text, "'%.60s' is no %s of this node", id, service->resource);
                return grpc_finish(call, GRPC_INVALID_ARGUMENT, text);
        }
        mark.key = ANNOTATION_REQUESTED;
        mark.value = (char *)service->resource;
        marked.annotations = marks;
        marked.n_annotations = 1;
        answer.container_responses =
                calloc(request->n_container_requests + 1, sizeof *answer.container_responses);
        if (!answer.container_responses)
                return grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        for (size_t i = 0; i < request->n_container_requests; i++)
                answer.container_responses[i] = &marked;
        answer.n_container_responses = request->n_container_requests;
        grpc_answer(call, &answer.base);
        free(answer.container_responses);
}

const struct grpc_method plugin_service_methods[] = {
        { "/v1beta1.DevicePlugin/GetDevicePluginOptions", &v1beta1__empty__descriptor,
          serve_options },
        { "/v1beta1.DevicePlugin/ListAndWatch", &v1beta1__empty__descriptor, serve_list },
        { "/v1beta1.DevicePlugin/Allocate", &v1beta1__allocate_request__descriptor,
          serve_allocate },
        { 0 },
};
