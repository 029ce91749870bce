/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu kueue config: what Kueue must be told to queue for this cluster's GPUs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster_command.h"
#include "cluster_options.h"
#include "cluster_session.h"
#include "kueue_plan.h"
#include "kueue_probe.h"
#include "resource.h"

enum part { PART_OBJECTS = 1, PART_MANAGER = 2, PART_ALL = 3 };

struct asked {
        struct kueue_plan plan;
        const char *kubeconfig;
        int mode; /* enum kueue_mode; -1: as admission is found to do it */
        unsigned parts;
        bool is_offline;
};

struct choice {
        const char *text;
        int value;
};

static const struct choice modes[] = {
        { "auto", -1 }, { "inject", KUEUE_INJECT }, { "transform", KUEUE_TRANSFORM }, { 0 }
};
static const struct choice parts[] = {
        { "all", PART_ALL }, { "objects", PART_OBJECTS }, { "manager", PART_MANAGER }, { 0 }
};

static int choice_take(const char *option, const char *text, const struct choice *choices,
                       int *ret_value, struct err *e)
{
        char known[96] = "";

        for (const struct choice *choice = choices; choice->text; choice++) {
                if (strcmp(choice->text, text) == 0) {
                        *ret_value = choice->value;
                        return 0;
                }
                snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
                         *known ? ", " : "", choice->text);
        }
        return err_set(e, -EINVAL, "invalid value '%.60s' of --%s (expected one of %s)", text,
                       option, known);
}

static int api_take(struct asked *asked, const char *text, struct err *e)
{
        static const struct choice versions[] = { { "v1beta2", 0 }, { "v1beta1", 0 }, { 0 } };
        int value;
        const int r = choice_take("api", text, versions, &value, e);

        if (r == 0)
                asked->plan.version = text;
        return r;
}

static int take(struct asked *asked, int option, const char *value, struct err *e)
{
        struct kueue_plan *plan = &asked->plan;
        int number = PART_ALL, r;

        switch (option) {
        case KUEUE_CONFIG_RESOURCE:
                asked->is_offline = true;
                return kueue_plan_add_name(plan, value, e);
        case KUEUE_CONFIG_QUOTA:
                return kueue_plan_set_quota(plan, value, e);
        case KUEUE_CONFIG_MODE:
                return choice_take("mode", value, modes, &asked->mode, e);
        case KUEUE_CONFIG_PART:
                r = choice_take("part", value, parts, &number, e);
                asked->parts = (unsigned)number;
                return r;
        case KUEUE_CONFIG_FLAVOR:
                return cluster_name_take("flavor", value, &plan->flavor, e);
        case KUEUE_CONFIG_CLUSTER_QUEUE:
                return cluster_name_take("cluster-queue", value, &plan->cluster_queue, e);
        case KUEUE_CONFIG_LOCAL_QUEUE:
                return cluster_name_take("local-queue", value, &plan->local_queue, e);
        case KUEUE_CONFIG_NAMESPACE:
                return cluster_name_take("namespace", value, &plan->namespace_name, e);
        case KUEUE_CONFIG_API:
                return api_take(asked, value, e);
        case KUEUE_CONFIG_DOMAIN:
                return 0; /* names depend on it: it was taken before all others */
        case KUEUE_CONFIG_KUBECONFIG:
                asked->kubeconfig = value;
                return 0;
        default: /* a row without its case */
                return err_set(e, -EINVAL, "internal error: option %d has no case", option);
        }
}

static int on_node(void *owner, const json_t *node)
{
        return kueue_plan_add_node(owner, node);
}

/* What the cluster has, and how its admission counts. */
static int cluster_read(struct asked *asked, struct err *e)
{
        struct cluster_session session;
        struct kueue_probe probe;
        int r = cluster_session_open(asked->kubeconfig, &session, e);

        if (r == 0)
                r = cluster_session_each(&session, "/api/v1/nodes", on_node, &asked->plan, e);
        if (r == 0 && asked->mode < 0) {
                r = kueue_probe_run(&session, &asked->plan, asked->plan.namespace_name, &probe, e);
                asked->mode = r == 0 && !probe.pod_gb ? KUEUE_TRANSFORM : KUEUE_INJECT;
                if (r < 0)
                        err_context(e, r,
                                    "it is unknown whether admission adds gpu.das.com/mem; "
                                    "give --mode");
        }
        cluster_session_close(&session);
        return r;
}

static void print(const struct asked *asked)
{
        const struct kueue_plan *plan = &asked->plan;

        if (asked->parts == PART_MANAGER) {
                kueue_plan_print_manager(plan, "", stdout);
                return;
        }
        if (asked->parts & PART_MANAGER) {
                printf("# GB of MIG profiles are counted by %s.\n",
                       plan->mode == KUEUE_INJECT
                               ? "vgpu-webhook, which adds them to pods and Jobs"
                               : "Kueue; vgpu-webhook must run with --leave-memory-units");
                printf("# Into Kueue's own configuration (ConfigMap kueue-manager-config in "
                       "kueue-system), then restart\n"
                       "# its manager; 'vgpu kueue config --part manager' prints this part "
                       "alone:\n#\n");
                kueue_plan_print_manager(plan, "#   ", stdout);
                printf("#\n# Workloads name their queue by the label kueue.x-k8s.io/queue-name: "
                       "%s\n---\n",
                       plan->local_queue);
        }
        kueue_plan_print_objects(plan, stdout);
}

static int domain_take(struct cli_scan scan, struct err *e)
{
        int option, r = 0;

        while (r == 0 && (option = cli_scan_next(&scan, e)) >= 0)
                if (option == KUEUE_CONFIG_DOMAIN)
                        r = resource_use_domain(scan.value, e);
        return r;
}

int cluster_kueue_config(const struct cluster_command *command, int argc, char **argv)
{
        struct cli_scan scan = {
                .program = "vgpu kueue config", .rows = command->options, .argc = argc, .argv = argv
        };
        struct asked asked = { .mode = -1, .parts = PART_ALL };
        struct err e = { 0 };
        int option = CLI_END, r = domain_take(scan, &e), code = CLUSTER_USAGE;

        kueue_plan_init(&asked.plan);
        while (r == 0 && (option = cli_scan_next(&scan, &e)) >= 0)
                r = take(&asked, option, scan.value, &e);
        if (r == 0 && option != CLI_END)
                r = err_set(&e, -EINVAL,
                            "unexpected argument '%.60s' ('vgpu kueue config' takes options only)",
                            scan.value ? scan.value : "");
        if (r == 0 && !asked.is_offline) {
                code = CLUSTER_FAILED; /* else nobody is asked, and what is missing was not said */
                r = cluster_read(&asked, &e);
        }
        /* What vgpu-webhook does unless it is told otherwise. */
        asked.plan.mode = asked.mode < 0 ? KUEUE_INJECT : (enum kueue_mode)asked.mode;
        if (r == 0)
                r = kueue_plan_check(&asked.plan, &e);
        if (r == 0)
                print(&asked);
        kueue_plan_done(&asked.plan);
        return r < 0 ? cluster_complain(code, "%s", e.text) : CLUSTER_OK;
}
