/* SPDX-License-Identifier: Apache-2.0 */
/* Decides where on the node, sets it aside, posts the Binding; gives it back if that fails. */
#include "binding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_nomination.h"
#include "json_memory.h"
#include "json_read.h"
#include "log.h"
#include "scope.h"
#include "volcano.h"

struct binding {
        struct state *state;
        struct kube_client *client;
        struct http_exchange *exchange;
        struct kube_call *call;
        char *allocation; /* the decision, as it stands in the Binding */
        char *volcano;    /* the decision once more, for Volcano; NULL: the node does not use it */
        bool is_urgent;
        char uid[64], namespace_name[64], pod[256];
};

/* Less than between the end of leading and the next one's begin. */
enum { URGENT_MS = 4000 };

static void answer(struct http_exchange *exchange, const char *error)
{
        autojson json_t *result = json_pack("{s:s}", "Error", error);
        autofree char *text = result ? json_memory_dump(result, JSON_COMPACT) : NULL;

        http_reply(exchange, text ? 200 : 500, "application/json", text, text ? strlen(text) : 0);
}

static void binding_end(struct binding *binding, const char *error)
{
        answer(binding->exchange, error);
        free(binding->volcano);
        free(binding->allocation);
        free(binding);
}

static void binding_await(const struct binding *binding)
{
        state_await(binding->state, binding->uid, binding->namespace_name, binding->pod);
}

/* The pod is on a node, by this Binding or another: what the pod says is what it holds. */
static void binding_found(struct binding *binding, const json_t *pod)
{
        const char *allocation = json_read_text_in(json_object_get(pod, "metadata"), "annotations",
                                                   ALLOCATION_ANNOTATION);
        const bool is_ours = strcmp(allocation, binding->allocation) == 0;

        if (is_ours) {
                binding_await(binding);
        } else {
                cluster_pod_release(state_cluster(binding->state), binding->uid);
                state_note_pod(binding->state, pod);
        }
        cluster_nomination_drop(state_cluster(binding->state), binding->uid);
        binding_end(binding, is_ours ? "" : "somebody else has bound the pod");
}

/* What came of a Binding that nobody answered, or that came too late: the pod says. */
static void on_pod_queried(void *owner, const struct kube_answer *found)
{
        struct binding *binding = owner;
        const bool is_it =
                strcmp(json_read_text_in(found->body, "metadata", "uid"), binding->uid) == 0;

        if (found->status == 200 && is_it && *json_read_text_in(found->body, "spec", "nodeName")) {
                binding_found(binding, found->body);
                return;
        }
        /* Not bound. Where even this is not known, what was set aside stays so until somebody tells:
         * a reservation too many for a while is better than one GPU for two. */
        if ((found->status == 200 && found->body) || found->status == 404)
                cluster_pod_release(state_cluster(binding->state), binding->uid);
        else
                binding_await(binding);
        binding_end(binding, "the API server did not answer the Binding");
}

static void pod_query(struct binding *binding)
{
        char path[512];
        const struct kube_request request = { .method = "GET", .path = path };

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s", binding->namespace_name,
                 binding->pod);
        if (kube_client_call(binding->client, &request, on_pod_queried, binding, &binding->call) ==
            0)
                return;
        binding_await(binding);
        binding_end(binding, "the API server did not answer the Binding");
}

static void on_posted(void *owner, const struct kube_answer *posted)
{
        struct binding *binding = owner;

        if (posted->status == 201 || posted->status == 200) {
                cluster_nomination_drop(state_cluster(binding->state), binding->uid);
                binding_await(binding);
                binding_end(binding, "");
                return;
        }
        /* 409: it is bound already, perhaps by a Binding of ours whose answer was lost. */
        if (posted->status == 0 || posted->status >= 500 || posted->status == 409) {
                pod_query(binding);
                return;
        }
        cluster_pod_release(state_cluster(binding->state), binding->uid);
        binding_end(binding, posted->message);
}

static json_t *body_make(const struct binding *binding, const char *node, const char *allocation)
{
        const uint64_t mark = json_memory_mark();
        json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:{s:s}}, s:{s:s, s:s, s:s}}",
                                 "apiVersion", "v1", "kind", "Binding", "metadata", "name",
                                 binding->pod, "namespace", binding->namespace_name, "uid",
                                 binding->uid, "annotations", ALLOCATION_ANNOTATION, allocation,
                                 "target", "apiVersion", "v1", "kind", "Node", "name", node);
        json_t *annotations = json_read_annotations(body);

        if (binding->volcano)
                json_object_set_new(annotations, VOLCANO_DECISION, json_string(binding->volcano));
        if (json_memory_is_whole(mark))
                return body;
        json_decref(body); /* whoever reads it would miss a part of the decision */
        return NULL;
}

/* Where on the node, set aside from now on. The text is the caller's. */
static char *decide(struct binding *binding, const char *node_name, struct err *e)
{
        struct cluster *cluster = state_cluster(binding->state);
        const struct gpu_request *gpu_request = state_request(binding->state, binding->uid);
        const struct cluster_node *node = cluster_node_find(cluster, node_name);
        const struct cluster_pod *held = cluster_pod_find(cluster, binding->uid);
        struct allocation allocation;
        struct placement placement;
        char *text = NULL;

        if (!gpu_request || !node) {
                err_set(e, -ENOENT, "%s is not known to vgpu-scheduler yet",
                        gpu_request ? "the node" : "the pod");
                return NULL;
        }
        if (held && !held->is_assumed) {
                err_set(e, -EEXIST, "the pod is on its node already");
                return NULL;
        }
        if (cluster_place(node, gpu_request, binding->uid, &placement, e) < 0)
                return NULL;
        if (cluster_allocation(node, gpu_request, &placement, binding->uid, &allocation) == 0) {
                state_await_not(binding->state, binding->uid);
                if (cluster_pod_hold(cluster, binding->uid, &allocation, gpu_request, true) == 0)
                        text = allocation_format(&allocation);
                if (node->uses_volcano)
                        binding->volcano = volcano_decision_format(&allocation);
                allocation_done(&allocation);
        }
        if (text && (!node->uses_volcano || binding->volcano))
                return text;
        free(text);
        cluster_pod_release(cluster, binding->uid); /* nobody would ever give it back */
        err_set(e, -ENOMEM, "out of memory");
        return NULL;
}

static int post(struct binding *binding, const char *node, const char *allocation)
{
        autojson json_t *body = body_make(binding, node, allocation);
        struct kube_request request = { .method = "POST",
                                        .body = body,
                                        .timeout_ms = binding->is_urgent ? URGENT_MS : 0,
                                        .tries = binding->is_urgent ? 1 : 0 };
        char path[512];

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s/binding",
                 binding->namespace_name, binding->pod);
        request.path = path;
        return body ? kube_client_call(binding->client, &request, on_posted, binding,
                                       &binding->call)
                    : -ENOMEM;
}

/* False: there is none, it is empty, or it does not fit. */
static bool name_read(const json_t *args, const char *key, char *to, size_t to_bytes)
{
        return json_read_copy(args, key, to, to_bytes) && *to;
}

void binding_begin(struct state *state, struct kube_client *client, const json_t *args,
                   bool is_urgent, struct http_exchange *exchange)
{
        const char *node = json_read_text_or_null(args, "Node");
        struct binding *binding = calloc(1, sizeof *binding);
        struct err e = { 0 };

        if (!binding) {
                answer(exchange, "out of memory");
                return;
        }
        *binding = (struct binding){
                .state = state, .client = client, .exchange = exchange, .is_urgent = is_urgent
        };
        if (!node || !name_read(args, "PodUID", binding->uid, sizeof binding->uid) ||
            !name_read(args, "PodNamespace", binding->namespace_name,
                       sizeof binding->namespace_name) ||
            !name_read(args, "PodName", binding->pod, sizeof binding->pod)) {
                binding_end(binding, "PodName, PodNamespace, PodUID and Node are needed");
                return;
        }
        binding->allocation = decide(binding, node, &e);
        if (!binding->allocation) {
                binding_end(binding, e.text);
                return;
        }
        if (post(binding, node, binding->allocation) < 0) {
                cluster_pod_release(state_cluster(state), binding->uid);
                binding_end(binding, "the API server cannot be called");
        }
}
