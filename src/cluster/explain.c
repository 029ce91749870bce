/* SPDX-License-Identifier: Apache-2.0 */
/* A pod's states: admission, gates, the scheduler, its node. */
#include "explain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json_read.h"
#include "pod_allocation.h"
#include "pod_ref.h"

static void state_set(json_t *to, const char *state, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void state_set(json_t *to, const char *state, const char *format, ...)
{
        char sentence[512];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(sentence, sizeof sentence, format, arguments);
        va_end(arguments);
        json_object_set_new(to, "state", json_string(state));
        json_object_set_new(to, "sentence", json_string(sentence));
}

/* What each container asks of each of its GPUs. */
static json_t *requests_of(const struct gpu_request *gpu_request)
{
        json_t *requests = json_array();

        for (unsigned i = 0; i < gpu_request->pod.need_count; i++) {
                const struct placement_need *need = &gpu_request->pod.needs[i];
                json_t *ask = json_pack("{s:s, s:i, s:i}", "container", gpu_request->containers[i],
                                        "gpus", (int)need->count, "cores", (int)need->cores);

                if (need->memory_mib)
                        json_object_set_new(ask, need->is_in_units ? "memory_units" : "memory_mib",
                                            json_integer((json_int_t)need->memory_mib));
                else
                        json_object_set_new(ask, "memory_percent",
                                            json_integer((json_int_t)need->memory_percent));
                json_array_append_new(requests, ask);
        }
        return requests;
}

/* What kube-scheduler said last of a pod that it could not place. */
static const char *scheduler_message(const json_t *pod)
{
        const json_t *conditions = json_object_get(json_object_get(pod, "status"), "conditions");
        const json_t *condition;
        size_t i;

        json_array_foreach ((json_t *)conditions, i, condition) {
                const char *type = json_read_text_or_null(condition, "type");
                const char *message = json_read_text_or_null(condition, "message");

                if (type && strcmp(type, "PodScheduled") == 0)
                        return message ? message : "";
        }
        return "";
}

/* Adds a node to those of the same reason. */
static void reason_add(json_t *reasons, const char *reason, const char *node)
{
        json_t *group, *names = NULL;
        size_t i;

        json_array_foreach (reasons, i, group) {
                const char *text = json_read_text_or_null(group, "reason");

                if (text && strcmp(text, reason) == 0)
                        names = json_object_get(group, "names");
        }
        if (!names) {
                names = json_array();
                json_array_append_new(reasons,
                                      json_pack("{s:s, s:o}", "reason", reason, "names", names));
        }
        json_array_append_new(names, json_string(node));
}

/* Every node's answer; how many the pod fits on. */
static size_t nodes_ask(const struct explain_facts *facts, const struct gpu_request *gpu_request,
                        json_t *to)
{
        const char *uid = json_read_text_in(facts->pod, "metadata", "uid");
        json_t *reasons = json_array(), *fitting = json_array(), *name;
        size_t i;

        json_array_foreach ((json_t *)facts->nodes, i, name) {
                const char *text = json_string_value(name);
                const struct cluster_node *node = cluster_node_find(facts->cluster, text);
                struct err e = { .text = "no GPU is registered" };
                struct placement placement;

                if (node && cluster_place(node, gpu_request, uid, &placement, &e) == 0)
                        json_array_append(fitting, name);
                else
                        reason_add(reasons, e.text, text);
        }
        const size_t count = json_array_size(fitting);

        json_object_set_new(to, "nodes", reasons);
        json_object_set_new(to, "fitting", fitting);
        return count;
}

static bool gates_explain(const json_t *pod, json_t *to)
{
        const json_t *gates = json_object_get(json_object_get(pod, "spec"), "schedulingGates");
        const char *gate = json_read_text_or_null(json_array_get(gates, 0), "name");

        if (!gate)
                return false;
        if (strcmp(gate, "kueue.x-k8s.io/admission") == 0)
                state_set(to, "quota",
                          "it waits for quota in Kueue's queue '%s'; see 'kubectl get workloads'",
                          json_read_text_in(json_object_get(pod, "metadata"), "labels",
                                            "kueue.x-k8s.io/queue-name"));
        else
                state_set(to, "gated", "the scheduling gate '%s' holds it back", gate);
        return true;
}

static void waiting_explain(const struct explain_facts *facts,
                            const struct gpu_request *gpu_request, json_t *to)
{
        const json_t *annotations = json_read_annotations(facts->pod);
        const char *scheduler = json_read_text_in(facts->pod, "spec", "schedulerName");
        const char *said = scheduler_message(facts->pod);
        const char *nominated = json_read_text_in(json_object_get(facts->pod, "metadata"),
                                                  "annotations", NOMINATED_NODE_ANNOTATION);
        const size_t fitting = nodes_ask(facts, gpu_request, to);
        const size_t all = json_array_size(facts->nodes);

        if (gates_explain(facts->pod, to))
                return;
        json_object_set_new(to, "scheduler_message", json_string(said));
        if (!json_object_get(annotations, "vgpu.io/container-uuids"))
                state_set(to, "webhook",
                          "vgpu-webhook has not seen it: it is older than the webhook, or its "
                          "namespace is excluded; delete and recreate the pod");
        else if (strcmp(scheduler, "default-scheduler") == 0 && fitting > 0 && *said)
                state_set(to, "scheduler",
                          "it waits for the scheduler '%s', which may not call vgpu-scheduler",
                          scheduler);
        else if (all == 0)
                state_set(to, "full", "the cluster has no nodes");
        else if (fitting == 0 && *nominated)
                state_set(to, "preempts",
                          "node %s is nominated for it; it waits until vgpu-scheduler has "
                          "evicted pods of lower priority there",
                          nominated);
        else if (fitting == 0)
                state_set(to, "full", "it fits on no node");
        else
                state_set(to, "scheduler",
                          "it fits on %zu of %zu nodes and waits for the scheduler "
                          "'%s'",
                          fitting, all, scheduler);
}

static json_t *gpus_of(const struct allocation *allocation)
{
        json_t *gpus = json_array();

        for (size_t i = 0; i < allocation->parts.count; i++) {
                const struct allocation_part *part = vec_at(&allocation->parts, i);

                json_array_append_new(gpus, json_pack("{s:s, s:s, s:I, s:i}", "container",
                                                      part->container, "uuid", part->uuid,
                                                      "memory_mib", (json_int_t)part->memory_mib,
                                                      "cores", (int)part->cores));
        }
        return gpus;
}

/* Why a container of a bound pod does not run yet; "": no reason is known. */
static const char *container_message(const json_t *pod)
{
        const json_t *status = json_object_get(pod, "status"), *entry;
        size_t i;

        json_array_foreach (json_object_get(status, "containerStatuses"), i, entry) {
                const json_t *waiting = json_object_get(json_object_get(entry, "state"), "waiting");
                const char *message = json_read_text_or_null(waiting, "message");
                const char *reason = json_read_text_or_null(waiting, "reason");

                if (message || reason)
                        return message ? message : reason;
        }
        return "";
}

static void placed_explain(const json_t *pod, const struct allocation *allocation, json_t *to)
{
        const char *phase = json_read_text_in(pod, "status", "phase"), *node = allocation->node;
        const char *said = container_message(pod);

        json_object_set_new(to, "gpus", gpus_of(allocation));
        if (strcmp(phase, "Running") == 0 && !*said)
                state_set(to, "running", "it runs on %s", node);
        else if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
                state_set(to, "ended", "it has ended (%s) on %s and holds no GPU", phase, node);
        else if (*said)
                state_set(to, "node", "it has its GPUs on %s; its container waits: %s", node, said);
        else
                state_set(to, "node", "it has its GPUs on %s and waits for the node to start it",
                          node);
}

static enum explain_verdict bound_explain(const json_t *pod, json_t *to)
{
        struct allocation allocation;
        struct err e = { 0 };
        const int r = pod_allocation_read(pod, &allocation, &e);

        json_object_set(to, "node", json_object_get(json_object_get(pod, "spec"), "nodeName"));
        if (r < 0) {
                state_set(to, "unaccounted",
                          "it is on %s without a valid allocation (%s) and gets no GPU: scheduler "
                          "'%s' or a user bound it",
                          json_read_text_in(pod, "spec", "nodeName"),
                          r == -ENOENT ? "it has none" : e.text,
                          json_read_text_in(pod, "spec", "schedulerName"));
                return EXPLAIN_WAITS;
        }
        placed_explain(pod, &allocation, to);
        allocation_done(&allocation);
        return EXPLAIN_PLACED;
}

json_t *explain_make(const struct explain_facts *facts, enum explain_verdict *ret_verdict)
{
        json_t *to = json_pack("{s:s, s:s, s:s}", "namespace",
                               json_read_text_in(facts->pod, "metadata", "namespace"), "name",
                               json_read_text_in(facts->pod, "metadata", "name"), "uid",
                               json_read_text_in(facts->pod, "metadata", "uid"));
        struct gpu_request gpu_request;
        struct err e = { 0 };

        *ret_verdict = EXPLAIN_WAITS;
        if (!to)
                return NULL;
        if (gpu_request_read(facts->pod, facts->with_gpu, &gpu_request, &e) < 0) {
                state_set(to, "refused", "its GPU request is invalid: %s", e.text);
                return to;
        }
        json_object_set_new(to, "requests", requests_of(&gpu_request));
        if (gpu_request.pod.need_count == 0) {
                state_set(to, "nothing", "it requests no share of a GPU");
                *ret_verdict = EXPLAIN_NOTHING;
        } else if (*json_read_text_in(facts->pod, "spec", "nodeName")) {
                *ret_verdict = bound_explain(facts->pod, to);
        } else {
                waiting_explain(facts, &gpu_request, to);
        }
        return to;
}
