/* SPDX-License-Identifier: Apache-2.0 */
/* What a running pod holds and uses: asked of the vgpu-node beside it, through the API server. */
#include "explain_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "live_use.h"
#include "scope.h"
#include "str.h"

enum {
        PATIENCE_MS = 2000, /* the rest of the answer is known by then */
        TOKEN_S = 600,      /* the least that the API server gives */
};

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

/* Was a container of the pod started with this option? */
static bool has_option(const json_t *pod, const char *option)
{
        const json_t *container, *word;
        size_t i, w;

        json_array_foreach (json_object_get(json_object_get(pod, "spec"), "containers"), i,
                            container) {
                json_array_foreach (json_object_get(container, "command"), w, word)
                        if (json_is_string(word) && strcmp(json_string_value(word), option) == 0)
                                return true;
                json_array_foreach (json_object_get(container, "args"), w, word)
                        if (json_is_string(word) && strcmp(json_string_value(word), option) == 0)
                                return true;
        }
        return false;
}

/* The metrics of the node's agent, as the API server passes questions on. */
struct agent {
        char path[640];
        char namespace_name[64];
        bool asks_tokens;
};

static int agent_find(struct cluster_session *session, const char *node, struct agent *ret_agent,
                      struct err *e)
{
        autojson json_t *list = NULL;
        const json_t *pod;
        json_int_t port = 0;
        char path[640];
        size_t i;
        int r;

        snprintf(path, sizeof path,
                 "/api/v1/pods?fieldSelector=spec.nodeName%%3D%.253s%%2Cstatus.phase%%3DRunning&"
                 "labelSelector=app.kubernetes.io%%2Fpart-of%%3Dvgpu%%2C"
                 "app.kubernetes.io%%2Fname%%20in%%20%%28vgpu-node%%2Cdas-operator-daemonset%%29",
                 node);
        r = cluster_session_call(session, "GET", path, NULL, &list, e);
        json_array_foreach (json_object_get(list, "items"), i, pod) {
                port = metrics_port(pod);
                if (port)
                        break;
        }
        if (r < 0 || !port)
                return r < 0 ? r : err_set(e, -1, "no pod of vgpu-node runs on its node");
        str_copy(ret_agent->namespace_name, sizeof ret_agent->namespace_name,
                 json_read_text_in(pod, "metadata", "namespace"));
        snprintf(ret_agent->path, sizeof ret_agent->path,
                 "/api/v1/namespaces/%.63s/pods/%s%.253s:%" JSON_INTEGER_FORMAT "/proxy/metrics",
                 ret_agent->namespace_name, has_option(pod, "--metrics-tls") ? "https:" : "",
                 json_read_text_in(pod, "metadata", "name"), port);
        ret_agent->asks_tokens = has_option(pod, "--metrics-auth=kubernetes");
        return 0;
}

/* A token that may read metrics and nothing else: the user's own is nobody's business but the API server's. */
static int token_make(struct cluster_session *session, const struct agent *agent, char **ret_token,
                      struct err *e)
{
        autojson json_t *body =
                json_pack("{s:s, s:s, s:{s:i}}", "apiVersion", "authentication.k8s.io/v1", "kind",
                          "TokenRequest", "spec", "expirationSeconds", TOKEN_S);
        autojson json_t *answer = NULL;
        char path[160];

        snprintf(path, sizeof path,
                 "/api/v1/namespaces/%.63s/serviceaccounts/vgpu-metrics-reader/token",
                 agent->namespace_name);
        int r = cluster_session_call(session, "POST", path, body, &answer, e);
        char *token = r == 0 ? strdup(json_read_text_in(answer, "status", "token")) : NULL;

        if (r == 0 && !token)
                r = err_set(e, -ENOMEM, "out of memory");
        if (r == 0)
                *ret_token = token;
        return r;
}

static int metrics_read(struct cluster_session *session, const char *node, char **ret_metrics,
                        struct err *e)
{
        autofree char *token = NULL;
        struct agent agent;
        int r = agent_find(session, node, &agent, e);

        if (r == 0 && agent.asks_tokens)
                r = token_make(session, &agent, &token, e);
        return r < 0 ? r
                     : cluster_session_text(session, agent.path, token, PATIENCE_MS, ret_metrics,
                                            e);
}

void explain_live(struct cluster_session *session, json_t *explanation)
{
        json_t *gpus = json_object_get(explanation, "gpus");
        const char *state = json_read_text_or_null(explanation, "state");
        const char *node = json_read_text_or_null(explanation, "node");
        autofree char *metrics = NULL;
        struct err e = { 0 };
        char sentence[512];

        if (!node || !state || strcmp(state, "running") != 0)
                return;
        int r = metrics_read(session, node, &metrics, &e);

        if (r == 0 && live_use_add(metrics, json_read_text_or_null(explanation, "namespace"),
                                   json_read_text_or_null(explanation, "name"), gpus) > 0)
                return;
        snprintf(sentence, sizeof sentence,
                 "its use of the GPU is unknown (%.200s); run 'vgpu ps' on node %.200s",
                 r < 0 ? e.text : "vgpu-node has no share for it", node);
        json_object_set_new(explanation, "usage_error", json_string(sentence));
}
