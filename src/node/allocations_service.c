/* By identity: the share of this container and no other. */
#include "allocations_service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container_place.h"
#include "log.h"
#include "registry.h"
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
        reply->message.share = share_message_new(held);
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

static void answer_with(const struct allocations_service *service, struct grpc_call *call,
                        struct held_share *held)
{
        struct reply reply = { 0 };

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
struct asking_call {
        const struct allocations_service *service;
        struct grpc_call *call;
        struct allocation_question *question;
        char pod_uid[64], container[64], container_id[128];
};

static void on_gone(void *owner)
{
        struct asking_call *asking = owner;

        allocation_question_cancel(asking->question);
        free(asking);
}

static void on_decided(void *owner, const struct allocation_answer *answer)
{
        struct asking_call *asking = owner;
        const struct allocations_service *service = asking->service;
        struct held_share *held;

        if (answer->pod)
                pod_watch_hear(service->pods, answer->pod);
        held = share_book_find(service->shares, asking->pod_uid, asking->container);
        if (held) {
                share_book_note_id(held, asking->container_id);
                answer_with(service, asking->call, held);
        } else if (answer->status == GRPC_NOT_FOUND) {
                grpc_finish(asking->call, GRPC_NOT_FOUND, answer->text);
        } else {
                answer_without(service, asking->call, asking->pod_uid, asking->container);
        }
        free(asking);
}

/* The watch lags: vgpu-scheduler knows what it decided. false: it cannot be asked. */
static bool ask_scheduler(const struct allocations_service *service, struct grpc_call *call,
                          const Vgpu__V1__GetAllocationRequest *request)
{
        struct asking_call *asking = calloc(1, sizeof *asking);
        struct err e = { 0 };

        if (!asking)
                return false;
        asking->service = service;
        asking->call = call;
        str_copy(asking->pod_uid, sizeof asking->pod_uid, request->container->pod_uid);
        str_copy(asking->container, sizeof asking->container, request->container->container);
        str_copy(asking->container_id, sizeof asking->container_id, request->container_id);
        if (allocation_fallback_ask(service->fallback, asking->pod_uid, asking->container,
                                    on_decided, asking, &asking->question, &e) < 0) {
                log_warn("vgpu-scheduler cannot be asked: %s", e.text);
                free(asking);
                return false;
        }
        grpc_on_gone(call, on_gone, asking);
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

static void serve_get(void *owner, struct grpc_call *call, const ProtobufCMessage *message)
{
        const struct allocations_service *service = owner;
        const Vgpu__V1__GetAllocationRequest *request = (const void *)message;
        const Vgpu__V1__Container *container = request->container;
        struct held_share *held;

        if (!is_root(call))
                return;
        if (!container || !*container->pod_uid || !*container->container)
                return grpc_finish(call, GRPC_INVALID_ARGUMENT, "which container of which pod?");
        held = share_book_find(service->shares, container->pod_uid, container->container);
        if (held && held->is_going)
                grpc_finish(call, GRPC_NOT_FOUND, "its pod is over");
        else if (held) {
                share_book_note_id(held, request->container_id);
                answer_with(service, call, held);
        } else if (!is_unseen(service, container) || !ask_scheduler(service, call, request)) {
                answer_without(service, call, container->pod_uid, container->container);
        }
}

const struct grpc_method allocations_service_methods[] = {
        { "/vgpu.v1.Allocations/Get", &vgpu__v1__get_allocation_request__descriptor, serve_get },
        { 0 },
};
