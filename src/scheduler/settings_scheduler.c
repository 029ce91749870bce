/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#include "settings_scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "choice.h"
#include "cli_option.h"
#include "resource.h"

enum {
        LISTEN,
        CERTIFICATE,
        KEY,
        PLAIN,
        METRICS_LISTEN,
        ALLOCATIONS,
        CLIENT_AUTHORITY,
        SERVICE,
        SECRET,
        CLIENT_SECRET,
        KUBECONFIG,
        NAMESPACE,
        LEADER_ELECT,
        LEASE,
        IDENTITY,
        NODE_POLICY,
        ASSUME_FOR,
        NVIDIA_GPU,
        DOMAIN,
        VERSION,
};
enum { PATIENCE_S = 120, PATIENCE_MOST_S = 3600 };

static const struct cli_option options[] = {
        [LISTEN] = { "listen", "ADDRESS", "serve kube-scheduler there; default: 127.0.0.1:8444",
                     NULL },
        [CERTIFICATE] = { "certificate", "FILE", "mounted certificate, read again when it changes",
                          "file" },
        [KEY] = { "key", "FILE", "its key", "file" },
        [PLAIN] = { "plain", NULL, "HTTP without TLS, on loopback only", NULL },
        [METRICS_LISTEN] = { "metrics-listen", "ADDRESS",
                             "serve /metrics, /healthz and /readyz there too, over HTTP, without "
                             "the verbs; default: off",
                             NULL },
        [ALLOCATIONS] = { "allocations", "ADDRESS",
                          "where nodes ask for allocations, over mutual TLS; default: off", NULL },
        [CLIENT_AUTHORITY] = { "client-authority", "FILE",
                               "with --certificate: the CA of the nodes' certificates", "file" },
        [SERVICE] = { "service", "NAME",
                      "Service named in generated certificates; default: vgpu-scheduler", NULL },
        [SECRET] = { "secret", "NAME",
                     "Secret with the generated CA; default: vgpu-scheduler-authority", NULL },
        [CLIENT_SECRET] = { "client-secret", "NAME",
                            "Secret with the nodes' generated certificate; default: "
                            "vgpu-allocations-client",
                            NULL },
        [KUBECONFIG] = { "kubeconfig", "FILE",
                         "how to reach the API server; default: the pod's service account",
                         "file" },
        [NAMESPACE] = { "namespace", "NAME",
                        "namespace of the Lease and the Secrets; default: the pod's", NULL },
        [LEADER_ELECT] = { "leader-elect", NULL, "elect one of several replicas by a Lease", NULL },
        [LEASE] = { "lease", "NAME", "name of that Lease; default: vgpu-scheduler", NULL },
        [IDENTITY] = { "identity", "NAME",
                       "name of this replica in the Lease; default: host name and port", NULL },
        [NODE_POLICY] = { "node-policy", "POLICY",
                          "for pods without a policy: binpack (the default) or spread",
                          "binpack spread" },
        [ASSUME_FOR] = { "assume-for", "SECONDS",
                         "GET the pod if the watch has not confirmed its allocation by then; "
                         "default: 120",
                         NULL },
        [NVIDIA_GPU] = { "nvidia-gpu", NULL, "also share nvidia.com/gpu", NULL },
        [DOMAIN] = { "domain", "NAME",
                     "of resource names, instead of nvidia.com; set it for all programs", NULL },
        [VERSION] = { "version", NULL, "print the version", NULL },
        { 0 },
};

static int refuse(const char *sentence)
{
        fprintf(stderr, "vgpu-scheduler: %s\n", sentence);
        return 2;
}

static void help(void)
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

/* Where a text goes as it is; NULL: it is none of these. */
static const char **text_of(struct scheduler_settings *settings, int option)
{
        switch (option) {
        case LISTEN:
                return &settings->listen;
        case CERTIFICATE:
                return &settings->certificate_path;
        case KEY:
                return &settings->key_path;
        case METRICS_LISTEN:
                return &settings->metrics_listen;
        case ALLOCATIONS:
                return &settings->allocations;
        case CLIENT_AUTHORITY:
                return &settings->clients_path;
        case SERVICE:
                return &settings->service;
        case SECRET:
                return &settings->secret;
        case CLIENT_SECRET:
                return &settings->client_secret;
        case KUBECONFIG:
                return &settings->kubeconfig;
        case NAMESPACE:
                return &settings->namespace_name;
        case LEASE:
                return &settings->lease;
        case IDENTITY:
                return &settings->identity;
        default:
                return NULL;
        }
}

static bool *flag_of(struct scheduler_settings *settings, int option)
{
        switch (option) {
        case PLAIN:
                return &settings->is_plain;
        case LEADER_ELECT:
                return &settings->elects;
        case NVIDIA_GPU:
                return &settings->with_gpu;
        default:
                return NULL;
        }
}

static int patience_take(struct scheduler_settings *settings, const char *text)
{
        char *end;
        const unsigned long seconds = strtoul(text, &end, 10);

        if (*text < '0' || *text > '9' || *end || seconds < 1 || seconds > PATIENCE_MOST_S)
                return refuse("invalid value of --assume-for (expected seconds from 1 to 3600)");
        settings->patience_s = (unsigned)seconds;
        return -1;
}

/* A cluster without a policy is kube-scheduler's alone: "none" is for pods. */
static int policy_take(struct scheduler_settings *settings, const char *text)
{
        struct err e = { 0 };
        int policy;

        if (choice_parse(CHOICE_NODE_POLICY, text, &policy, NULL) < 0 || policy == PLACEMENT_ANY) {
                err_set(&e, -EINVAL,
                        "invalid value '%.60s' of --node-policy (expected binpack or spread)",
                        text);
                return refuse(e.text);
        }
        settings->node_policy = (enum placement_policy)policy;
        return -1;
}

/* −1: go on; else the exit code. */
static int option_take(struct scheduler_settings *settings, int option, const char *value)
{
        const char **text = text_of(settings, option);
        bool *flag = flag_of(settings, option);
        struct err e = { 0 };

        if (text)
                *text = value;
        else if (flag)
                *flag = true;
        if (text || flag)
                return -1;
        switch (option) {
        case DOMAIN:
                return resource_use_domain(value, &e) < 0 ? refuse(e.text) : -1;
        case ASSUME_FOR:
                return patience_take(settings, value);
        case NODE_POLICY:
                return policy_take(settings, value);
        case VERSION:
                printf("vgpu-scheduler %s\n", VGPU_VERSION);
                return 0;
        case CLI_HELP:
                help();
                return 0;
        default:
                return refuse("takes options only (see --help)");
        }
}

/* Told at once, not when the cluster has been read. −1: it is one, or none is asked for. */
static int address_check(const char *option, const char *text)
{
        struct address address;
        struct err e = { 0 };

        if (!text || address_parse(text, &address, &e) == 0)
                return -1;
        err_context(&e, e.code, option);
        return refuse(e.text);
}

static int settings_check(const struct scheduler_settings *settings)
{
        int code = address_check("--listen", settings->listen);

        if (code < 0)
                code = address_check("--metrics-listen", settings->metrics_listen);
        if (code >= 0)
                return code;
        if (!settings->certificate_path != !settings->key_path)
                return refuse("--certificate and --key belong together");
        if (settings->allocations && !settings->certificate_path != !settings->clients_path)
                return refuse("--allocations with --certificate needs --client-authority, and "
                              "--client-authority needs both");
        if (settings->is_plain && settings->certificate_path && !settings->allocations)
                return refuse("--plain takes no --certificate");
        if (settings->is_plain && strncmp(settings->listen, "127.", 4) != 0 &&
            strncmp(settings->listen, "[::1]", 5) != 0)
                return refuse("--plain listens on loopback only: 127.0.0.1 or [::1]");
        return address_check("--allocations", settings->allocations);
}

int scheduler_settings_read(int argc, char **argv, struct scheduler_settings *ret_settings,
                            int *ret_code)
{
        struct cli_scan scan = {
                .program = "vgpu-scheduler", .rows = options, .argc = argc, .argv = argv, .index = 1
        };
        struct err e = { 0 };
        int option, code = -1;

        *ret_settings = (struct scheduler_settings){ .listen = "127.0.0.1:8444",
                                                     .service = "vgpu-scheduler",
                                                     .secret = "vgpu-scheduler-authority",
                                                     .client_secret = "vgpu-allocations-client",
                                                     .lease = "vgpu-scheduler",
                                                     .patience_s = PATIENCE_S,
                                                     .node_policy = PLACEMENT_BINPACK };
        while (code < 0 && (option = cli_scan_next(&scan, &e)) != CLI_END)
                code = option == CLI_BAD ? refuse(e.text)
                                         : option_take(ret_settings, option, scan.value);
        if (code < 0)
                code = settings_check(ret_settings);
        *ret_code = code;
        return code < 0 ? 0 : -1;
}
