/* SPDX-License-Identifier: Apache-2.0 */
/* By identity: the share of this container and no other. */
#include "allocations_service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "container_paths.h"
#include "log.h"
#include "mig_share.h"
#include "registry.h"
#include "setting.h"
#include "share_folder.h"
#include "share_message.h"
#include "str.h"
#include "vgpu.pb-c.h"

enum { MOUNTS_MOST = 8, VARIABLES_MOST = 4 };

/* An answer and all that it points to. */
struct reply {
        Vgpu__V1__GetAllocationResponse message;
        Vgpu__V1__Mount mounts[MOUNTS_MOST], *mount_list[MOUNTS_MOST];
        char paths[MOUNTS_MOST][SHARE_TEXT];
        Vgpu__V1__Variable variables[VARIABLES_MOST], *variable_list[VARIABLES_MOST];
        struct str uuids;
};

static void mount_put(struct reply *reply, const char *host, const char *path, bool is_readonly)
{
        const size_t i = reply->message.n_mounts++;
        Vgpu__V1__Mount *mount = &reply->mounts[i];

        vgpu__v1__mount__init(mount);
        mount->host_path = (char *)host;
        mount->container_path = (char *)path;
        mount->read_only = is_readonly;
        reply->mount_list[i] = mount;
}

static void file_put(struct reply *reply, const struct held_share *held, const char *name,
                     const char *path, bool is_readonly)
{
        char *host = reply->paths[reply->message.n_mounts];

        share_folder_beside(held->path, name, host);
        mount_put(reply, host, path, is_readonly);
}

static void variable_put(struct reply *reply, const char *name, const char *value)
{
        const size_t i = reply->message.n_variables++;
        Vgpu__V1__Variable *variable = &reply->variables[i];

        vgpu__v1__variable__init(variable);
        variable->name = (char *)name;
        variable->value = (char *)value;
        reply->variable_list[i] = variable;
}

/* A real driver sees the device nodes that there are; the simulated one goes by its variable. */
static int machine_put(struct reply *reply, const struct allocations_service *options,
                       const struct share_copy *copy)
{
        int r = 0;

        for (unsigned i = 0; i < copy->device_count && r == 0; i++)
                r = str_appendf(&reply->uuids, "%s%s", i ? "," : "", copy->devices[i].uuid);
        mount_put(reply, options->machine, CONTAINER_MACHINE, false);
        mount_put(reply, options->driver, CONTAINER_DRIVER, true);
        variable_put(reply, "VGPU_SIM", CONTAINER_MACHINE);
        variable_put(reply, "LD_LIBRARY_PATH", CONTAINER_DRIVER);
        variable_put(reply, "CUDA_VISIBLE_DEVICES", reply->uuids.text);
        return r;
}

static int reply_fill(struct reply *reply, const struct allocations_service *options,
                      struct held_share *held)
{
        vgpu__v1__get_allocation_response__init(&reply->message);
        const struct shown_share shown = shown_share_of(held);
        reply->message.share = share_message_new(&shown, NULL);
        reply->message.mounts = reply->mount_list;
        reply->message.variables = reply->variable_list;
        file_put(reply, held, "share", SHARE_PATH, true);
        file_put(reply, held, "region", CONTAINER_REGION, false);
        file_put(reply, held, "grant", CONTAINER_GRANT, true);
        file_put(reply, held, "want", CONTAINER_WANT, false);
        /* The folder, so that the socket of the next vgpu-node is in it. */
        char *registry = reply->paths[reply->message.n_mounts];
        snprintf(registry, SHARE_TEXT, "%.200s/registry", options->run_folder);
        mount_put(reply, registry, REGISTRY_FOLDER, true);
        if (!reply->message.share)
                return -ENOMEM;
        return options->driver ? machine_put(reply, options, share_current(&held->share)) : 0;
}

/* The container starts: what it starts with is not what the next one of its pod starts with. */
static void start_settle(const struct allocations_service *service, const struct held_share *held)
{
        const struct share_copy *copy = share_current(&held->share);

        for (unsigned i = 0; service->starts && i < copy->device_count; i++)
                mig_starts_forget(service->starts, copy->devices[i].uuid);
}

static void answer_with(const struct allocations_service *service, struct grpc_call *call,
                        struct held_share *held)
{
        struct reply reply = { 0 };

        start_settle(service, held);

        if (reply_fill(&reply, service, held) < 0)
                grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        else
                grpc_answer(call, &reply.message.base);
        share_message_free(reply.message.share);
        str_done(&reply.uuids);
}

static void answer_without(const struct allocations_service *service, struct grpc_call *call,
                           const char *pod_uid, const char *container)
{
        struct err e = { 0 };
        const int r = service->pods
                              ? pod_watch_explain(service->pods, pod_uid, container, &e)
                              : err_set(&e, -EAGAIN, "the GPUs of this node are not known yet");

        grpc_finish(call,
                    r == -EAGAIN   ? GRPC_UNAVAILABLE
                    : r == -ENOENT ? GRPC_NOT_FOUND
                                   : GRPC_FAILED_PRECONDITION,
                    e.text);
}

/* A call that waits for what vgpu-scheduler says. */
struct pending_call {
        const struct allocations_service *service;
        struct grpc_call *call;
        struct allocation_question *question;
        char pod_uid[64], container[64], container_id[128];
};

static void on_gone(void *owner)
{
        struct pending_call *pending = owner;

        allocation_question_cancel(pending->question);
        free(pending);
}

static void on_decided(void *owner, const struct allocation_answer *answer)
{
        struct pending_call *pending = owner;
        const struct allocations_service *service = pending->service;
        struct held_share *held;

        if (answer->pod)
                pod_watch_learn(service->pods, answer->pod);
        held = share_book_find(service->shares, pending->pod_uid, pending->container);
        if (held) {
                share_book_note_id(held, pending->container_id);
                answer_with(service, pending->call, held);
        } else if (answer->status == GRPC_NOT_FOUND) {
                grpc_finish(pending->call, GRPC_NOT_FOUND, answer->text);
        } else {
                answer_without(service, pending->call, pending->pod_uid, pending->container);
        }
        free(pending);
}

/* The watch lags: vgpu-scheduler knows what it decided. false: it cannot be asked. */
static bool ask_scheduler(const struct allocations_service *service, struct grpc_call *call,
                          const Vgpu__V1__GetAllocationRequest *request)
{
        struct pending_call *pending = calloc(1, sizeof *pending);
        struct err e = { 0 };

        if (!pending)
                return false;
        pending->service = service;
        pending->call = call;
        str_copy(pending->pod_uid, sizeof pending->pod_uid, request->container->pod_uid);
        str_copy(pending->container, sizeof pending->container, request->container->container);
        str_copy(pending->container_id, sizeof pending->container_id, request->container_id);
        const struct allocation_wanted wanted = { .pod_uid = pending->pod_uid,
                                                  .namespace_name = "",
                                                  .pod = "",
                                                  .container = pending->container };

        if (scheduler_fallback_ask(service->fallback, &wanted, on_decided, pending,
                                   &pending->question, &e) < 0) {
                log_warn("cannot ask vgpu-scheduler: %s", e.text);
                free(pending);
                return false;
        }
        grpc_on_gone(call, on_gone, pending);
        return true;
}

static bool is_unseen(const struct allocations_service *service,
                      const Vgpu__V1__Container *container)
{
        return service->pods && service->fallback &&
               pod_watch_explain(service->pods, container->pod_uid, container->container, NULL) ==
                       -EAGAIN;
}

static bool is_root(struct grpc_call *call)
{
        struct ucred peer;

        if (grpc_peer(call, &peer) == 0 && peer.uid == 0)
                return true;
        grpc_finish(call, GRPC_PERMISSION_DENIED, "only root may ask");
        return false;
}

/* Nobody has made a share of it yet. */
static void serve_unshared(const struct allocations_service *service, struct grpc_call *call,
                           const Vgpu__V1__GetAllocationRequest *request)
{
        const Vgpu__V1__Container *container = request->container;

        if (!is_unseen(service, container) || !ask_scheduler(service, call, request))
                answer_without(service, call, container->pod_uid, container->container);
}

/* A call that waits for what kubelet says. */
struct listing_call {
        const struct allocations_service *service;
        struct grpc_call *call;
        char pod_uid[64], pod_namespace[64], pod[SHARE_TEXT], container[64], container_id[128];
};

static void on_listing_gone(void *owner)
{
        struct listing_call *listing = owner;

        pod_resources_forget(listing->service->pod_resources, listing);
        free(listing);
}

static void unlisted(struct listing_call *listing)
{
        Vgpu__V1__Container container = VGPU__V1__CONTAINER__INIT;
        Vgpu__V1__GetAllocationRequest request = VGPU__V1__GET_ALLOCATION_REQUEST__INIT;

        container.pod_uid = listing->pod_uid;
        container.namespace_ = listing->pod_namespace;
        container.pod = listing->pod;
        container.container = listing->container;
        request.container = &container;
        request.container_id = listing->container_id;
        serve_unshared(listing->service, listing->call, &request);
}

static void on_listed(void *owner, const V1__ListPodResourcesResponse *list, const char *text)
{
        struct listing_call *listing = owner;
        const struct allocations_service *service = listing->service;
        const struct mig_share_owner who = { listing->pod_uid, listing->pod_namespace, listing->pod,
                                             listing->container };
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct held_share *held = NULL;
        struct share_copy content;
        struct err e = { 0 };
        int r = list ? mig_share_make(list, service->starts, clock_now_ns(), &who, service->gpus,
                                      &content, gpu_devices, &e)
                     : 0;

        grpc_on_gone(listing->call, NULL, NULL);
        if (r > 0) {
                content.compatibility =
                        service->speaks_own_pids ? COMPATIBILITY_OPEN_KERNEL + 1 : 0;
                r = share_book_make(service->shares, &content, gpu_devices, &held, &e);
                held = held ? held : share_book_find(service->shares, who.pod_uid, who.container);
        }
        if (held) {
                log_info("share of container '%s' of pod %s/%s: %u MIG devices", who.container,
                         who.pod_namespace, who.pod, share_current(&held->share)->device_count);
                share_book_note_id(held, listing->container_id);
                answer_with(service, listing->call, held);
        } else if (!list) {
                grpc_finish(listing->call, GRPC_UNAVAILABLE, text);
        } else if (r < 0) {
                grpc_finish(listing->call, GRPC_FAILED_PRECONDITION, e.text);
        } else {
                unlisted(listing);
        }
        free(listing);
}

/* Where there are MIG devices, kubelet knows who has which. false: it is not asked. */
static bool ask_kubelet(const struct allocations_service *service, struct grpc_call *call,
                        const Vgpu__V1__GetAllocationRequest *request)
{
        const Vgpu__V1__Container *container = request->container;
        struct listing_call *listing;

        if (!service->pod_resources || !service->gpus || service->gpus->part_count == 0)
                return false;
        listing = calloc(1, sizeof *listing);
        if (!listing)
                return false;
        listing->service = service;
        listing->call = call;
        str_copy(listing->pod_uid, sizeof listing->pod_uid, container->pod_uid);
        str_copy(listing->pod_namespace, sizeof listing->pod_namespace, container->namespace_);
        str_copy(listing->pod, sizeof listing->pod, container->pod);
        str_copy(listing->container, sizeof listing->container, container->container);
        str_copy(listing->container_id, sizeof listing->container_id, request->container_id);
        grpc_on_gone(call, on_listing_gone, listing); /* before: it may be answered at once */
        if (pod_resources_list(service->pod_resources, on_listed, listing) < 0) {
                grpc_on_gone(call, NULL, NULL);
                free(listing);
                return false;
        }
        return true;
}

static void serve_get(void *owner, struct grpc_call *call, const ProtobufCMessage *message)
{
        const struct allocations_service *service = owner;
        const Vgpu__V1__GetAllocationRequest *request = (const void *)message;
        const Vgpu__V1__Container *container = request->container;
        struct held_share *held;

        if (!is_root(call))
                return;
        if (!container || !*container->pod_uid || !*container->container)
                return grpc_finish(call, GRPC_INVALID_ARGUMENT,
                                   "missing the name of the container, or its pod's uid");
        held = share_book_find(service->shares, container->pod_uid, container->container);
        if (held && held->is_going)
                grpc_finish(call, GRPC_NOT_FOUND, "its pod has ended");
        else if (held) {
                share_book_note_id(held, request->container_id);
                answer_with(service, call, held);
        } else if (!ask_kubelet(service, call, request)) {
                serve_unshared(service, call, request);
        }
}

const struct grpc_method allocations_service_methods[] = {
        { "/vgpu.v1.Allocations/Get", &vgpu__v1__get_allocation_request__descriptor, serve_get },
        { 0 },
};
