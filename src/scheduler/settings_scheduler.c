/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#include "settings_scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "choice.h"
#include "option_row.h"
#include "resource.h"

enum { PATIENCE_S = 120, PATIENCE_MOST_S = 3600 };

static int take_patience(void *owner, const struct option_row *row, const char *value,
                         struct err *e)
{
        struct scheduler_settings *settings = owner;
        char *end;
        const unsigned long seconds = strtoul(value, &end, 10);

        (void)row;
        if (*value < '0' || *value > '9' || *end || seconds < 1 || seconds > PATIENCE_MOST_S)
                return err_set(e, -EINVAL,
                               "invalid value '%.60s' of --assume-for (expected seconds from 1 to "
                               "3600)",
                               value);
        settings->patience_s = (unsigned)seconds;
        return 0;
}

/* A cluster without a policy is kube-scheduler's alone: "none" is for pods. */
static bool is_of_clusters(const struct choice_value *policy)
{
        return policy->value != PLACEMENT_ANY;
}

/* "binpack or spread" */
static const char *policies_list(char *text, size_t bytes)
{
        const struct choice_value *at = choice_rows[CHOICE_NODE_POLICY].values;
        size_t left = 0, length = 0;

        for (const struct choice_value *policy = at; policy->text; policy++)
                left += is_of_clusters(policy);
        for (*text = '\0'; at->text && length < bytes; at++)
                if (is_of_clusters(at))
                        length += (size_t)snprintf(text + length, bytes - length, "%s%s", at->text,
                                                   --left > 1  ? ", "
                                                   : left == 1 ? " or "
                                                               : "");
        return text;
}

static int take_policy(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        struct scheduler_settings *settings = owner;
        const struct choice_value *at = choice_rows[CHOICE_NODE_POLICY].values;
        char list[96];

        (void)row;
        while (at->text && (!is_of_clusters(at) || strcmp(at->text, value) != 0))
                at++;
        if (!at->text)
                return err_set(e, -EINVAL, "invalid value '%.60s' of --node-policy (expected %s)",
                               value, policies_list(list, sizeof list));
        settings->node_policy = (enum placement_policy)at->value;
        return 0;
}

static int take_domain(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        (void)owner;
        (void)row;
        return resource_use_domain(value, e);
}

static int take_version(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        (void)owner;
        (void)row;
        (void)value;
        (void)e;
        printf("vgpu-scheduler %s\n", VGPU_VERSION);
        return 1;
}

#define TEXT(field)               \
        .take = option_take_text, \
        .target = OPTION_FIELD(struct scheduler_settings, const char *, field)
#define FLAG(field) \
        .take = option_take_flag, .target = OPTION_FIELD(struct scheduler_settings, bool, field)

static const struct option_row rows[] = {
        { .option = { "listen", "ADDRESS", "serve kube-scheduler there; default: 127.0.0.1:8444",
                      NULL },
          TEXT(listen) },
        { .option = { "certificate", "FILE", "mounted certificate, read again when it changes",
                      "file" },
          TEXT(certificate_path) },
        { .option = { "key", "FILE", "its key", "file" }, TEXT(key_path) },
        { .option = { "plain", NULL, "HTTP without TLS, on loopback only", NULL }, FLAG(is_plain) },
        { .option = { "metrics-listen", "ADDRESS",
                      "serve /metrics, /healthz and /readyz there too, without the verbs; "
                      "default: off",
                      NULL },
          TEXT(metrics_listen) },
        { .option = { "metrics-auth", "none|kubernetes",
                      "kubernetes: /metrics and /simulate need a bearer token that the API server "
                      "allows to use them; none by default",
                      "none kubernetes" },
          .take = option_take_truth,
          .target = OPTION_FIELD(struct scheduler_settings, bool, is_metrics_authorized),
          .yes = 1 },
        { .option = { "metrics-tls", NULL, "serve --metrics-listen over HTTPS", NULL },
          FLAG(has_metrics_tls) },
        { .option = { "allocations", "ADDRESS",
                      "where nodes ask for allocations, over mutual TLS; default: off", NULL },
          TEXT(allocations) },
        { .option = { "client-authority", "FILE",
                      "with --certificate: the CA of the nodes' certificates", "file" },
          TEXT(clients_path) },
        { .option = { "service", "NAME",
                      "Service named in generated certificates; default: vgpu-scheduler", NULL },
          TEXT(service) },
        { .option = { "secret", "NAME",
                      "Secret with the generated CA; default: vgpu-scheduler-authority", NULL },
          TEXT(secret) },
        { .option = { "client-secret", "NAME",
                      "Secret with the nodes' generated certificate; default: "
                      "vgpu-allocations-client",
                      NULL },
          TEXT(client_secret) },
        { .option = { "kubeconfig", "FILE",
                      "how to reach the API server; default: the pod's service account", "file" },
          TEXT(kubeconfig) },
        { .option = { "namespace", "NAME",
                      "namespace of the Lease and the Secrets; default: the pod's", NULL },
          TEXT(namespace_name) },
        { .option = { "leader-elect", NULL, "elect one of several replicas by a Lease", NULL },
          FLAG(elects) },
        { .option = { "lease", "NAME", "name of that Lease; default: vgpu-scheduler", NULL },
          TEXT(lease) },
        { .option = { "identity", "NAME",
                      "name of this replica in the Lease; default: host name and port", NULL },
          TEXT(identity) },
        { .option = { "node-policy", "POLICY",
                      "for pods without a policy: binpack (the default) or spread",
                      "binpack spread" },
          .take = take_policy },
        { .option = { "assume-for", "SECONDS",
                      "GET the pod if the watch has not confirmed its allocation by then; "
                      "default: 120",
                      NULL },
          .take = take_patience },
        { .option = { "nvidia-gpu", NULL, "also share nvidia.com/gpu", NULL }, FLAG(with_gpu) },
        { .option = { "domain", "NAME",
                      "domain of resource names, instead of nvidia.com; set it for all programs",
                      NULL },
          .take = take_domain },
        { .option = { "version", NULL, "print the version", NULL }, .take = take_version },
};

enum { ROWS = sizeof rows / sizeof *rows };

static int refuse(const char *sentence)
{
        fprintf(stderr, "vgpu-scheduler: %s\n", sentence);
        return 2;
}

static void help(const struct cli_option *options)
{
        printf("Usage: vgpu-scheduler [OPTION]…\n\n"
               "An extender of kube-scheduler: knows every GPU's free memory, cores and slots,\n"
               "filters and scores nodes for pods that request shares of GPUs, binds these pods\n"
               "with their allocation, and preempts pods of lower priority when GPUs are full.\n"
               "Serves /filter, /prioritize, /bind, /preempt, /simulate, /healthz, /readyz and\n"
               "/metrics.\n\nOptions:\n");
        cli_option_print(options);
        printf("  %-26s %s\n", "--help", "print this text");
}

/* Found at once, not when the cluster has been read: by then there is no resolver any more (confinement). −1: valid, or
 * not set. */
static int address_read(const char *option, const char *text, struct address *ret_address)
{
        struct err e = { 0 };

        if (!text || address_parse(text, ret_address, &e) == 0)
                return -1;
        err_context(&e, e.code, option);
        return refuse(e.text);
}

static int settings_check(struct scheduler_settings *settings)
{
        int code = address_read("--listen", settings->listen, &settings->listen_address);

        if (code < 0)
                code = address_read("--metrics-listen", settings->metrics_listen,
                                    &settings->metrics_address);
        if (code >= 0)
                return code;
        if (!settings->certificate_path != !settings->key_path)
                return refuse("--certificate and --key belong together");
        if (settings->allocations && !settings->certificate_path != !settings->clients_path)
                return refuse("--allocations with --certificate needs --client-authority, and "
                              "--client-authority needs both");
        if (settings->is_plain && settings->certificate_path && !settings->allocations &&
            !settings->has_metrics_tls)
                return refuse("--plain takes no --certificate");
        if (settings->is_plain && strncmp(settings->listen, "127.", 4) != 0 &&
            strncmp(settings->listen, "[::1]", 5) != 0)
                return refuse("--plain listens on loopback only: 127.0.0.1 or [::1]");
        /* A token is as good as a password: it crosses no network in plain text. */
        if (settings->is_metrics_authorized && settings->metrics_listen &&
            !settings->has_metrics_tls && !address_is_local(&settings->metrics_address))
                return refuse("--metrics-auth=kubernetes needs --metrics-tls, except on loopback");
        return address_read("--allocations", settings->allocations, &settings->allocations_address);
}

/* 0: go on; 1: that was all; < 0: the sentence is in e. */
static int option_take(struct scheduler_settings *settings, const struct cli_scan *scan, int row,
                       struct err *e)
{
        if (row == CLI_BAD)
                return -EINVAL;
        if (row == CLI_PLAIN)
                return err_set(e, -EINVAL, "takes options only (see --help)");
        if (row == CLI_HELP) {
                help(scan->rows);
                return 1;
        }
        return option_row_take(settings, &rows[row], scan->value, e);
}

int scheduler_settings_read(int argc, char **argv, struct scheduler_settings *ret_settings,
                            int *ret_code)
{
        struct cli_option options[ROWS + 1];
        struct cli_scan scan = {
                .program = "vgpu-scheduler", .rows = options, .argc = argc, .argv = argv, .index = 1
        };
        struct err e = { 0 };
        int row, r = 0, code;

        *ret_settings = (struct scheduler_settings){ .listen = "127.0.0.1:8444",
                                                     .service = "vgpu-scheduler",
                                                     .secret = "vgpu-scheduler-authority",
                                                     .client_secret = "vgpu-allocations-client",
                                                     .lease = "vgpu-scheduler",
                                                     .patience_s = PATIENCE_S,
                                                     .node_policy = PLACEMENT_BINPACK };
        option_rows_copy(rows, ROWS, options);
        while (r == 0 && (row = cli_scan_next(&scan, &e)) != CLI_END)
                r = option_take(ret_settings, &scan, row, &e);
        if (r != 0)
                code = r < 0 ? refuse(e.text) : 0;
        else
                code = settings_check(ret_settings);
        *ret_code = code;
        return code < 0 ? 0 : -1;
}
