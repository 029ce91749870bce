/* SPDX-License-Identifier: Apache-2.0 */
/* The node that is nominated for a pod. */
#include "nomination.h"

#include <stdio.h>
#include <stdlib.h>

#include "json_read.h"
#include "log.h"
#include "victims.h"

struct writing {
        struct kube_call *call;
        char pod[256];
};

static void on_written(void *owner, const struct kube_answer *answer)
{
        struct writing *writing = owner;

        if (answer->status != 200 && answer->status != 404)
                log_warn("cannot nominate a node for pod %s: %s", writing->pod, answer->message);
        free(writing);
}

void nomination_write(struct kube_client *client, const struct pod_ref *pod_ref, const char *node)
{
        struct writing *writing = calloc(1, sizeof *writing);
        autojson json_t *body = json_pack("{s:{s:s, s:{s:s?}}, s:{s:s?}}", "metadata", "uid",
                                          pod_ref->uid, "annotations", NOMINATED_NODE_ANNOTATION,
                                          node, "status", "nominatedNodeName", node);
        char path[448];
        const struct kube_request request = { .method = "PATCH",
                                              .path = path,
                                              .body = body,
                                              .content_type = "application/merge-patch+json",
                                              .tries = 2 };

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s/status", pod_ref->namespace_name,
                 pod_ref->name);
        if (writing)
                snprintf(writing->pod, sizeof writing->pod, "%s", pod_ref->name);
        if (!writing || !body ||
            kube_client_call(client, &request, on_written, writing, &writing->call) < 0)
                free(writing);
}

static int placement_of(const struct cluster_node *node, const struct pod_ref *pod_ref,
                        const struct gpu_request *gpu_request, uint64_t now_ns,
                        struct placement *ret_placement)
{
        const struct victims_question question = { .gpu_request = gpu_request,
                                                   .uid = pod_ref->uid,
                                                   .is_patient = true,
                                                   .now_ns = now_ns };
        struct victims *victims = malloc(sizeof *victims);
        const int r = victims ? victims_find(node, &question, victims) : -1;

        if (r == 0)
                *ret_placement = victims->placement;
        free(victims);
        return r;
}

bool nomination_is_good(const struct cluster_node *node, const struct pod_ref *pod_ref,
                        const struct gpu_request *gpu_request, uint64_t now_ns)
{
        struct placement placement;

        return node->is_known && placement_of(node, pod_ref, gpu_request, now_ns, &placement) == 0;
}

void nomination_follow(struct cluster *cluster, const struct pod_ref *pod_ref,
                       const struct gpu_request *gpu_request, uint64_t now_ns)
{
        const struct cluster_node *node = cluster_node_find(
                cluster, *pod_ref->nominated_annotation ? pod_ref->nominated_annotation
                                                        : pod_ref->nominated_status);
        struct placement placement;

        if (node && placement_of(node, pod_ref, gpu_request, now_ns, &placement) == 0)
                cluster_nomination_set(cluster, pod_ref, node->name, &placement, now_ns);
}
