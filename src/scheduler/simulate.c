/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster of the question's own, in which pods are placed. */
#include "simulate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_copy.h"
#include "json_read.h"
#include "node_read.h"
#include "pod_ref.h"
#include "str.h"

/* Pods times nodes: others wait meanwhile. */
enum { PAIRS_MOST = 100000 };

struct scene {
        const struct simulate_options *options;
        struct cluster cluster;
        struct vec nodes; /* of const struct cluster_node *, in the order of the question */
};

static int node_add(struct scene *scene, const char *name, struct err *e)
{
        const struct cluster_node *node = cluster_node_find(&scene->cluster, name);

        if (!node)
                return err_set(e, -ENOENT, "the GPUs of node %.100s are unknown", name);
        return vec_push(&scene->nodes, &node) < 0 ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int nodes_copy(struct scene *scene, const struct cluster *cluster, const json_t *names,
                      struct err *e)
{
        const json_t *item;
        size_t i;
        int r = 0;

        json_array_foreach (names, i, item) {
                const char *name = json_string_value(item);
                const struct cluster_node *node = name ? cluster_node_find(cluster, name) : NULL;

                if (!name)
                        r = err_set(e, -EINVAL, "NodeNames is not a list of names");
                else if (!node) /* one without GPUs is no mistake: nothing goes there */
                        continue;
                else if (cluster_node_copy(&scene->cluster, node) < 0)
                        r = err_set(e, -ENOMEM, "out of memory");
                if (r == 0)
                        r = node_add(scene, name, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int nodes_make(struct scene *scene, const json_t *nodes, struct err *e)
{
        const json_t *object;
        size_t i;
        int r = 0;

        json_array_foreach (nodes, i, object) {
                const char *name =
                        json_read_text_or_null(json_object_get(object, "metadata"), "name");

                if (!name)
                        return err_set(e, -EINVAL, "a node in Nodes has no name");
                if (cluster_node_find(&scene->cluster, name))
                        return err_set(e, -EINVAL, "node %.100s is listed twice", name);
                r = node_read(&scene->cluster, name, object, e);
                if (r == 0)
                        r = node_add(scene, name, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The node that prioritize would prefer, the first of equals; NULL: none, and the reasons say why. */
static const struct cluster_node *node_choose(const struct scene *scene,
                                              const struct gpu_request *gpu_request,
                                              struct placement *ret_placement, json_t *reasons)
{
        const enum placement_policy policy =
                gpu_request_node_policy(gpu_request, scene->options->node_policy);
        const struct cluster_node *chosen = NULL;
        unsigned best = 0;

        for (size_t i = 0; i < scene->nodes.count; i++) {
                const struct cluster_node *node =
                        *(const struct cluster_node **)vec_at(&scene->nodes, i);
                const struct placement_node target = { .devices = node->placement_devices,
                                                       .device_count =
                                                               (unsigned)node->devices.count };
                struct placement placement;
                struct err e = { 0 };

                if (cluster_place(node, gpu_request, NULL, &placement, &e) < 0) {
                        json_object_set_new(reasons, node->name, json_string(e.text));
                        continue;
                }
                const unsigned score = placement_score(
                        policy, placement_fullness(&target, &placement), PLACEMENT_FULL);

                if (chosen && score <= best)
                        continue;
                chosen = node;
                best = score;
                *ret_placement = placement;
        }
        return chosen;
}

/* Sets it aside in the scene. The GPUs as the pod's annotation would have them; NULL: out of memory. */
static json_t *pod_hold(struct scene *scene, const struct cluster_node *node,
                        const struct gpu_request *gpu_request, const struct placement *placement,
                        size_t index)
{
        struct allocation allocation;
        char uid[32];
        json_t *decision = NULL;
        char *text;

        snprintf(uid, sizeof uid, "pod-%zu", index);
        if (cluster_allocation(node, gpu_request, placement, uid, &allocation) < 0)
                return NULL;
        text = allocation_format(&allocation);
        if (text && cluster_pod_hold(&scene->cluster, uid, &allocation, gpu_request, true) == 0)
                decision = json_loads(text, 0, NULL);
        free(text);
        allocation_done(&allocation);
        json_t *containers = json_incref(json_object_get(decision, "containers"));

        json_decref(decision);
        return containers;
}

static json_t *pod_place(struct scene *scene, const json_t *pod, size_t index)
{
        json_t *reasons = json_object(), *containers = NULL;
        const struct cluster_node *node = NULL;
        struct placement placement;
        struct gpu_request gpu_request;
        struct err e = { 0 };
        struct pod_ref pod_ref;

        pod_ref_read(pod, &pod_ref);
        if (gpu_request_read(pod, scene->options->with_gpu, &gpu_request, &e) == 0 &&
            gpu_request.pod.need_count > 0)
                node = node_choose(scene, &gpu_request, &placement, reasons);
        if (node)
                containers = pod_hold(scene, node, &gpu_request, &placement, index);
        if (node && !containers) {
                json_decref(reasons);
                return NULL;
        }
        if (node) {
                json_decref(reasons);
                reasons = json_object();
        }
        return json_pack("{s:s, s:s, s:b, s:s?, s:o?, s:o, s:s}", "Namespace",
                         pod_ref.namespace_name, "Name", pod_ref.name, "Fits",
                         node || (!*e.text && gpu_request.pod.need_count == 0), "Node",
                         node ? node->name : NULL, "Containers", containers, "Reasons", reasons,
                         "Error", e.text);
}

static int pods_place(struct scene *scene, const json_t *pods, json_t *placements)
{
        const json_t *pod;
        size_t i;

        json_array_foreach (pods, i, pod) {
                json_t *placed = pod_place(scene, pod, i);

                if (!placed || json_array_append_new(placements, placed) < 0)
                        return -ENOMEM;
        }
        return 0;
}

json_t *simulate(const struct cluster *cluster, const struct simulate_options *options,
                 const json_t *args)
{
        const json_t *pods = json_object_get(args, "Pods");
        const json_t *names = json_object_get(args, "NodeNames");
        const json_t *nodes = json_object_get(args, "Nodes");
        struct scene scene = { .options = options, .nodes = VEC_OF(struct cluster_node *) };
        json_t *placements = json_array();
        struct err e = { 0 };
        int r = 0;

        if (!json_is_array(pods))
                r = err_set(&e, -EINVAL, "Pods is not a list");
        else if (json_array_size(pods) * (json_array_size(names) + json_array_size(nodes)) >
                 PAIRS_MOST)
                r = err_set(&e, -E2BIG, "more than %d pairs of a pod and a node: ask in parts",
                            PAIRS_MOST);
        if (r == 0)
                r = nodes_copy(&scene, cluster, names, &e);
        if (r == 0)
                r = nodes_make(&scene, nodes, &e);
        if (r == 0 && pods_place(&scene, pods, placements) < 0)
                err_set(&e, -ENOMEM, "out of memory");
        vec_done(&scene.nodes);
        cluster_done(&scene.cluster);
        return json_pack("{s:o, s:s}", "Placements", placements, "Error", e.text);
}
