/* SPDX-License-Identifier: Apache-2.0 */
/* From a Node's annotations to its GPUs. */
#include "node_read.h"

#include <errno.h>
#include <string.h>

#include "json_read.h"
#include "kube_known.h"
#include "node_links.h"
#include "resource.h"
#include "volcano.h"

#define REGISTRATION "nvidia.com/node-device-register"
#define CONFIG       "nvidia.com/node-config-info"

/* Most members of an object are not ours to read. */
const char *const node_read_ignored[] = { "managedFields",
                                          "labels",
                                          "ownerReferences",
                                          "generation",
                                          "conditions",
                                          "containerStatuses",
                                          "initContainerStatuses",
                                          "ephemeralContainerStatuses",
                                          "hostIP",
                                          "hostIPs",
                                          "podIP",
                                          "podIPs",
                                          "qosClass",
                                          "env",
                                          "envFrom",
                                          "image",
                                          "imagePullPolicy",
                                          "imagePullSecrets",
                                          "command",
                                          "args",
                                          "ports",
                                          "volumes",
                                          "volumeMounts",
                                          "livenessProbe",
                                          "readinessProbe",
                                          "startupProbe",
                                          "lifecycle",
                                          "securityContext",
                                          "terminationMessagePath",
                                          "terminationMessagePolicy",
                                          "tolerations",
                                          "affinity",
                                          "topologySpreadConstraints",
                                          "dnsPolicy",
                                          "serviceAccount",
                                          "serviceAccountName",
                                          "enableServiceLinks",
                                          "nodeInfo",
                                          "images",
                                          "capacity",
                                          "addresses",
                                          "daemonEndpoints",
                                          NULL };

/* kubelet goes on to name what a device plugin offered after it has lost it, with 0. A node that names
 * nothing has not been told yet, or is none of kubelet's. */
static bool is_away(const json_t *object)
{
        const json_t *offers = json_object_get(json_object_get(object, "status"), "allocatable");
        bool is_named = false;

        for (size_t i = 0; i < resource_row_count; i++) {
                const char *text = resource_rows[i].kind == RESOURCE_COUNT
                                           ? json_read_text_or_null(offers, resource_rows[i].name)
                                           : NULL;

                if (text && strcmp(text, "0") != 0)
                        return false;
                is_named = is_named || text;
        }
        return is_named;
}

/* Of all that a node says to us. */
static uint64_t said_of(const json_t *object)
{
        static const char *const names[] = { REGISTRATION, CONFIG, NODE_LINKS_ANNOTATION,
                                             VOLCANO_REGISTER };
        uint64_t digest = is_away(object) ? 2 : 1;

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                const char *text = json_read_annotation(object, names[i]);

                digest = digest * UINT64_C(0x9e3779b97f4a7c15) + (text ? kube_digest(text) : 0);
        }
        return digest;
}

static int links_set(struct cluster *cluster, const char *name, const json_t *object, struct err *e)
{
        const char *text = json_read_annotation(object, NODE_LINKS_ANNOTATION);
        const struct cluster_node *node = cluster_node_find(cluster, name);
        uint8_t *links;
        int r;

        if (!text || !node)
                return 0;
        r = node_links_parse(text, &node->devices, &links, e);
        if (r == 0)
                cluster_node_set_links(cluster, name, links);
        return r;
}

int node_read(struct cluster *cluster, const char *name, const json_t *object, struct err *e)
{
        const struct cluster_node *before = cluster_node_find(cluster, name);
        const char *registration = json_read_annotation(object, REGISTRATION);
        const uint64_t said = registration ? said_of(object) : 0;
        struct vec devices;
        int r;

        if (!registration) {
                cluster_node_remove(cluster, name);
                return 0;
        }
        if (before && before->said == said)
                return 0;
        r = node_devices_parse(registration, &devices, e);
        if (r < 0 && r != -ENOMEM)
                cluster_node_remove(cluster, name);
        if (r < 0)
                return r;
        r = node_devices_configure(&devices, json_read_annotation(object, CONFIG));
        if (r == 0)
                r = cluster_node_set(cluster, name, &devices);
        vec_done(&devices);
        if (r < 0)
                return err_set(e, r, "out of memory: it is not known");
        cluster_node_set_volcano(cluster, name,
                                 json_read_annotation(object, VOLCANO_REGISTER) != NULL);
        cluster_node_set_away(cluster, name, is_away(object));
        r = links_set(cluster, name, object, e);
        if (r != -ENOMEM) /* else it is read again */
                cluster_node_note(cluster, name, said);
        return r;
}
