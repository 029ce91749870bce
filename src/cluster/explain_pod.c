/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu explain pod: why a pod waits, or where it runs. Computes from the API server's objects, as vgpu-scheduler
 * does, and does not call vgpu-scheduler, so it works without it, too. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "cluster_command.h"
#include "cluster_options.h"
#include "cluster_session.h"
#include "explain.h"
#include "explain_live.h"
#include "json_read.h"
#include "node_read.h"
#include "pod_allocation.h"
#include "resource.h"
#include "scope.h"
#include "str.h"

enum { CLUSTER_WAITS = 3 };

struct picture {
        struct cluster cluster;
        json_t *nodes; /* their names */
        bool with_gpu;
};

static int on_node(void *owner, const json_t *node)
{
        struct picture *picture = owner;
        const char *name = json_read_text_in(node, "metadata", "name");

        json_array_append_new(picture->nodes, json_string(name));
        /* What is not understood is not there, for the scheduler either. */
        return node_read(&picture->cluster, name, node, NULL) == -ENOMEM ? -ENOMEM : 0;
}

static int on_pod(void *owner, const json_t *pod)
{
        struct picture *picture = owner;
        const char *phase = json_read_text_in(pod, "status", "phase");
        struct allocation allocation;
        struct gpu_request gpu_request;

        if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0 ||
            gpu_request_read(pod, picture->with_gpu, &gpu_request, NULL) < 0 ||
            pod_allocation_read(pod, &allocation, NULL) < 0)
                return 0;
        const int r = cluster_pod_hold(&picture->cluster, json_read_text_in(pod, "metadata", "uid"),
                                       &allocation, &gpu_request, false);

        allocation_done(&allocation);
        return r;
}

/* " … (requests.nvidia.com/gpumem: 30k of 30k)" where a quota on one of our names is used up; else "". */
static void quota_say(const json_t *quota, char *to, size_t to_bytes)
{
        const json_t *status = json_object_get(quota, "status");
        const char *name;
        json_t *hard;

        json_object_foreach (json_object_get(status, "hard"), name, hard) {
                const char *used = json_read_text_in(status, "used", name),
                           *most = json_string_value(hard);
                const char *own =
                        str_starts_with(name, "requests.") ? name + strlen("requests.") : name;
                struct resource resource;
                int64_t used_amount, most_amount;

                if (resource_find(own, true, &resource) && most &&
                    amount_parse(used, &used_amount, NULL) == 0 &&
                    amount_parse(most, &most_amount, NULL) == 0 && used_amount >= most_amount)
                        snprintf(to, to_bytes,
                                 "; ResourceQuota '%s' is used up (%s: %s of %s), and pods over it "
                                 "are never made",
                                 json_read_text_in(quota, "metadata", "name"), name, used, most);
        }
}

static int absent_say(struct cluster_session *session, const char *namespace_name, const char *name)
{
        char path[256], hint[512] = "";
        autojson json_t *list = NULL;
        json_t *quota;
        struct err e = { 0 };
        size_t i;

        snprintf(path, sizeof path, "/api/v1/namespaces/%.63s/resourcequotas", namespace_name);
        if (cluster_session_call(session, "GET", path, NULL, &list, &e) == 0)
                json_array_foreach (json_object_get(list, "items"), i, quota)
                        quota_say(quota, hint, sizeof hint);
        return cluster_complain(CLUSTER_FAILED, "there is no pod '%s' in namespace '%s'%s", name,
                                namespace_name, hint);
}

static int cluster_read(struct cluster_session *session, struct picture *picture, struct err *e)
{
        const int r = cluster_session_each(session, "/api/v1/nodes", on_node, picture, e);

        return r < 0 ? r : cluster_session_each(session, "/api/v1/pods", on_pod, picture, e);
}

static int explain(struct cluster_session *session, const json_t *pod, struct picture *picture,
                   bool is_json)
{
        const struct explain_facts facts = { .pod = pod,
                                             .nodes = picture->nodes,
                                             .cluster = &picture->cluster,
                                             .with_gpu = picture->with_gpu };
        enum explain_verdict verdict;
        struct err e = { 0 };
        /* A pod that is placed is its node's: what others have and hold says nothing of it. */
        int r = *json_read_text_in(pod, "spec", "nodeName") ? 0
                                                            : cluster_read(session, picture, &e);

        if (r < 0)
                return cluster_complain(CLUSTER_FAILED, "%s", e.text[0] ? e.text : strerror(-r));
        autojson json_t *explanation = explain_make(&facts, &verdict);

        if (!explanation)
                return cluster_complain(CLUSTER_FAILED, "out of memory");
        explain_live(session, explanation);
        if (is_json) {
                json_dumpf(explanation, stdout, JSON_INDENT(2));
                putchar('\n');
        } else {
                explain_print(explanation);
        }
        return verdict == EXPLAIN_WAITS ? CLUSTER_WAITS : CLUSTER_OK;
}

static int pod_explain(struct cluster_session *session, const char *namespace_name,
                       const char *name, bool with_gpu, bool is_json)
{
        struct picture picture = { .nodes = json_array(), .with_gpu = with_gpu };
        struct err e = { 0 };
        autojson json_t *pod = NULL;
        char path[512];
        int code;

        snprintf(path, sizeof path, "/api/v1/namespaces/%.63s/pods/%.253s", namespace_name, name);
        const int r = cluster_session_call(session, "GET", path, NULL, &pod, &e);

        if (r == -ENOENT)
                code = absent_say(session, namespace_name, name);
        else if (r < 0)
                code = cluster_complain(CLUSTER_FAILED, "%s", e.text);
        else
                code = explain(session, pod, &picture, is_json);
        json_decref(picture.nodes);
        cluster_done(&picture.cluster);
        return code;
}

/* Letters, digits, "-" and ".": anything else would be another path. */
static bool is_name(const char *text)
{
        return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(text);
}

int cluster_explain_pod(const struct cluster_command *command, int argc, char **argv)
{
        struct cli_scan scan = {
                .program = "vgpu explain pod", .rows = command->options, .argc = argc, .argv = argv
        };
        const char *values[EXPLAIN_POD_OPTIONS] = { 0 }, *name = NULL;
        bool is_given[EXPLAIN_POD_OPTIONS] = { 0 };
        struct cluster_session session = { 0 };
        struct err e = { 0 };
        int option, code;

        while ((option = cli_scan_next(&scan, &e)) >= 0 || (option == CLI_PLAIN && !name)) {
                if (option == CLI_PLAIN) {
                        name = scan.value;
                        continue;
                }
                values[option] = scan.value;
                is_given[option] = true;
        }
        if (option != CLI_END || !name || !is_name(name))
                return cluster_complain(CLUSTER_USAGE,
                                        "'vgpu explain pod' takes the name of one pod (see 'vgpu "
                                        "explain pod --help')");
        if ((values[EXPLAIN_POD_NAMESPACE] &&
             cluster_name_take("namespace", values[EXPLAIN_POD_NAMESPACE],
                               &values[EXPLAIN_POD_NAMESPACE], &e) < 0) ||
            (values[EXPLAIN_POD_DOMAIN] && resource_use_domain(values[EXPLAIN_POD_DOMAIN], &e) < 0))
                return cluster_complain(CLUSTER_USAGE, "%s", e.text);
        if (cluster_session_open(values[EXPLAIN_POD_KUBECONFIG], &session, &e) < 0) {
                code = cluster_complain(CLUSTER_FAILED, "%s", e.text);
        } else {
                const char *own = session.config.namespace_name;

                code = pod_explain(&session,
                                   values[EXPLAIN_POD_NAMESPACE] ? values[EXPLAIN_POD_NAMESPACE]
                                   : own && is_name(own)         ? own
                                                                 : "default",
                                   name, is_given[EXPLAIN_POD_NVIDIA_GPU],
                                   is_given[EXPLAIN_POD_JSON]);
        }
        cluster_session_close(&session);
        return code;
}
