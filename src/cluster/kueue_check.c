/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu kueue check: does Kueue count this cluster's GPUs, once each? */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster_command.h"
#include "cluster_options.h"
#include "cluster_session.h"
#include "file.h"
#include "json_read.h"
#include "kueue_audit.h"
#include "resource.h"
#include "scope.h"
#include "yaml_json.h"

#define KUEUE_API     "/apis/kueue.x-k8s.io/v1beta2/"
#define KUEUE_OLD_API "/apis/kueue.x-k8s.io/v1beta1/"
#define MANAGER_PATH  "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config"
#define MANAGER_KEY   "controller_manager_config.yaml"

/* All that is read; owned. */
struct found {
        struct kueue_plan plan;
        struct kueue_probe probe;
        bool has_probe;
        json_t *manager, *cluster_queues, *local_queues, *flavors;
};

static void found_done(struct found *found)
{
        kueue_plan_done(&found->plan);
        json_decref(found->manager);
        json_decref(found->cluster_queues);
        json_decref(found->local_queues);
        json_decref(found->flavors);
}

static int on_node(void *owner, const json_t *node)
{
        return kueue_plan_add_node(owner, node);
}

static int manager_file(const char *path, json_t **ret_manager, struct err *e)
{
        autofree char *text = NULL;
        int r = file_read(path, &text);

        if (r < 0)
                return err_set(e, r, "cannot read '%s': %s", path, strerror(-r));
        r = yaml_json_parse(text, strlen(text), ret_manager, e);
        return r < 0 ? err_context(e, r, path) : 0;
}

/* Absent where Kueue is configured in another way: then it is not known. */
static int manager_read(struct cluster_session *session, json_t **ret_manager, struct err *e)
{
        autojson json_t *map = NULL;
        int r = cluster_session_call(session, "GET", MANAGER_PATH, NULL, &map, e);
        const char *text = json_read_text_or_null(json_object_get(map, "data"), MANAGER_KEY);

        if (r == 0 && text)
                r = yaml_json_parse(text, strlen(text), ret_manager, e);
        return r == -ENOENT || r == -EACCES ? 0 : r;
}

static int kind_read(struct cluster_session *session, const char *kind, json_t **ret_items,
                     struct err *e)
{
        static const char *const versions[] = { KUEUE_API, KUEUE_OLD_API };
        autojson json_t *list = NULL;
        char path[128];
        int r = -ENOENT;

        for (unsigned i = 0; i < 2 && r == -ENOENT; i++) {
                snprintf(path, sizeof path, "%s%s", versions[i], kind);
                r = cluster_session_call(session, "GET", path, NULL, &list, e);
        }
        *ret_items = json_incref(json_object_get(list, "items"));
        return r == -ENOENT ? err_set(e, r, "the cluster has no Kueue (no %s)", kind) : r;
}

static int cluster_read(struct cluster_session *session, const char *namespace_name,
                        struct found *found, struct err *e)
{
        int r = cluster_session_each(session, "/api/v1/nodes", on_node, &found->plan, e);

        if (r == 0)
                r = kind_read(session, "clusterqueues", &found->cluster_queues, e);
        if (r == 0)
                r = kind_read(session, "localqueues", &found->local_queues, e);
        if (r == 0)
                r = kind_read(session, "resourceflavors", &found->flavors, e);
        if (r == 0 && !found->manager)
                r = manager_read(session, &found->manager, e);
        if (r < 0)
                return r;
        r = kueue_probe_run(session, &found->plan, namespace_name, &found->probe, e);
        found->has_probe = r == 0;
        return r == -EACCES ? 0 : r;
}

static void on_finding(void *owner, enum kueue_verdict verdict, const char *sentence,
                       const char *fix)
{
        static const char *const labels[] = { "ok   ", "note ", "WRONG" };

        printf("%s  %s\n", labels[verdict], sentence);
        if (fix && verdict != KUEUE_WELL)
                printf("       %s\n", fix);
        *(unsigned *)owner += verdict == KUEUE_WRONG;
}

static int report(const struct found *found)
{
        const struct kueue_facts facts = { .plan = &found->plan,
                                           .probe = found->has_probe ? &found->probe : NULL,
                                           .manager = found->manager,
                                           .cluster_queues = found->cluster_queues,
                                           .local_queues = found->local_queues,
                                           .flavors = found->flavors };
        unsigned wrong = 0;

        kueue_audit(&facts, on_finding, &wrong);
        if (wrong == 0)
                printf("\nGPUs count once.\n");
        else
                printf("\n%u thing%s to put right.\n", wrong, wrong == 1 ? "" : "s");
        return wrong ? CLUSTER_FAILED : CLUSTER_OK;
}

int cluster_kueue_check(const struct cluster_command *command, int argc, char **argv)
{
        struct cli_scan scan = {
                .program = "vgpu kueue check", .rows = command->options, .argc = argc, .argv = argv
        };
        const char *values[4] = { [KUEUE_CHECK_NAMESPACE] = "default" };
        struct cluster_session session = { 0 };
        struct found found = { 0 };
        struct err e = { 0 };
        int option, r;

        while ((option = cli_scan_next(&scan, &e)) >= 0)
                values[option] = scan.value;
        if (option != CLI_END)
                return cluster_complain(CLUSTER_USAGE, "'vgpu kueue check' takes options only");
        r = cluster_name_take("namespace", values[KUEUE_CHECK_NAMESPACE],
                              &values[KUEUE_CHECK_NAMESPACE], &e);
        if (r == 0 && values[KUEUE_CHECK_DOMAIN])
                r = resource_use_domain(values[KUEUE_CHECK_DOMAIN], &e);
        if (r < 0)
                return cluster_complain(CLUSTER_USAGE, "%s", e.text);
        kueue_plan_init(&found.plan);
        if (values[KUEUE_CHECK_MANAGER])
                r = manager_file(values[KUEUE_CHECK_MANAGER], &found.manager, &e);
        if (r == 0)
                r = cluster_session_open(values[KUEUE_CHECK_KUBECONFIG], &session, &e);
        if (r == 0)
                r = cluster_read(&session, values[KUEUE_CHECK_NAMESPACE], &found, &e);
        const int code = r < 0 ? cluster_complain(CLUSTER_FAILED, "%s", e.text) : report(&found);

        cluster_session_close(&session);
        found_done(&found);
        return code;
}
