/* SPDX-License-Identifier: Apache-2.0 */
/* What a running pod holds and uses: asked of the vgpu-node beside it, through the API server. */
#include "explain_live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "live_use.h"
#include "scope.h"

enum { PATIENCE_MS = 2000 }; /* the rest of the answer is known by then */

/* The port where a container of the pod serves metrics; 0: it has none. */
static json_int_t metrics_port(const json_t *pod)
{
        const json_t *container, *port;
        size_t i, p;

        json_array_foreach (json_object_get(json_object_get(pod, "spec"), "containers"), i,
                            container) {
                json_array_foreach (json_object_get(container, "ports"), p, port) {
                        const char *name = json_read_text_or_null(port, "name");

                        if (name && strcmp(name, "metrics") == 0)
                                return json_read_integer(port, "containerPort");
                }
        }
        return 0;
}

/* Where the metrics of the node's agent are, as the API server passes questions on. */
static int agent_find(struct cluster_session *session, const char *node, char path[static 640],
                      struct err *e)
{
        autojson json_t *list = NULL;
        const json_t *pod;
        json_int_t port = 0;
        size_t i;
        int r;

        snprintf(path, 640,
                 "/api/v1/pods?fieldSelector=spec.nodeName%%3D%.253s%%2Cstatus.phase%%3DRunning&"
                 "labelSelector=app.kubernetes.io%%2Fpart-of%%3Dvgpu%%2C"
                 "app.kubernetes.io%%2Fname%%20in%%20%%28vgpu-node%%2Cdas-operator-daemonset%%29",
                 node);
        r = cluster_session_call(session, "GET", path, NULL, &list, e);
        json_array_foreach (json_object_get(list, "items"), i, pod) {
                port = metrics_port(pod);
                if (port == 0)
                        continue;
                snprintf(path, 640,
                         "/api/v1/namespaces/%.63s/pods/%.253s:%" JSON_INTEGER_FORMAT
                         "/proxy/metrics",
                         json_read_text_in(pod, "metadata", "namespace"),
                         json_read_text_in(pod, "metadata", "name"), port);
                break;
        }
        return r < 0 || port ? r : err_set(e, -1, "no pod of vgpu-node runs on its node");
}

void explain_live(struct cluster_session *session, json_t *explanation)
{
        json_t *gpus = json_object_get(explanation, "gpus");
        const char *state = json_read_text_or_null(explanation, "state");
        const char *node = json_read_text_or_null(explanation, "node");
        autofree char *metrics = NULL;
        struct err e = { 0 };
        char path[640], sentence[512];

        if (!node || !state || strcmp(state, "running") != 0)
                return;
        int r = agent_find(session, node, path, &e);

        if (r == 0)
                r = cluster_session_text(session, path, PATIENCE_MS, &metrics, &e);
        if (r == 0 && live_use_add(metrics, json_read_text_or_null(explanation, "namespace"),
                                   json_read_text_or_null(explanation, "name"), gpus) > 0)
                return;
        snprintf(sentence, sizeof sentence,
                 "its use of the GPU is unknown (%.200s); run 'vgpu ps' on node %.200s",
                 r < 0 ? e.text : "vgpu-node has no share for it", node);
        json_object_set_new(explanation, "usage_error", json_string(sentence));
}
