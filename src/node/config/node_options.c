/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of vgpu-node. */
#include "node_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "gpu.h"
#include "nearest.h"
#include "node_config.h"
#include "node_option.h"
#include "resource.h"

enum { SECONDS_MOST = 86400 };

static int add_resource(struct node_options *options, const char *name, struct err *e)
{
        unsigned count = 0;

        while (options->resources[count])
                if (strcmp(options->resources[count++], name) == 0)
                        return err_set(e, -EINVAL, "'%s' is named twice", name);
        if (count == NODE_RESOURCES_MOST)
                return err_set(e, -EINVAL, "more than %d resources", NODE_RESOURCES_MOST);
        options->resources[count] = name;
        return 0;
}

/* When all is read: which names there are depends on the domain. */
static int check_resources(const struct node_options *options, struct err *e)
{
        for (unsigned i = 0; options->resources[i]; i++) {
                const char *name = options->resources[i];
                struct resource resource;

                if (!resource_find(name, true, &resource) || resource.kind != RESOURCE_COUNT)
                        return err_set(e, -EINVAL,
                                       "'%.100s' is not a resource that counts vGPUs (%s, %s, %s)",
                                       name, resource_name(RESOURCE_PLAIN, RESOURCE_COUNT),
                                       resource_name(RESOURCE_NUMBERED, RESOURCE_COUNT),
                                       resource_name(RESOURCE_VOLCANO, RESOURCE_COUNT));
        }
        return 0;
}

/* Every name by which a pod may count vGPUs, except those that only an operator may claim. */
static int add_all_resources(struct node_options *options, struct err *e)
{
        int r = 0;

        for (size_t i = 0; i < resource_row_count && r == 0; i++)
                if (resource_rows[i].kind == RESOURCE_COUNT && !resource_rows[i].is_optional)
                        r = add_resource(options, resource_rows[i].name, e);
        return r;
}

static int take_exclude(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        struct node_options *options = owner;

        (void)row;
        options->exclude = value;
        return gpu_is_excluded(value, &(struct gpu){ 0 }, e) < 0 ? -EINVAL : 0;
}

static int take_domain(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        (void)owner;
        (void)row;
        return resource_use_domain(value, e);
}

static int take_resource(void *owner, const struct option_row *row, const char *value,
                         struct err *e)
{
        (void)row;
        return add_resource(owner, value, e);
}

static int take_version(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        (void)owner;
        (void)row;
        (void)value;
        (void)e;
        printf("vgpu-node %s\n", VGPU_VERSION);
        return 1;
}

#define TEXT(field)   .take = option_take_text, .target = OPTION_TARGET(const char *, field)
#define FLAG(field)   .take = option_take_flag, .target = OPTION_TARGET(bool, field)
#define TRUTH(field)  .take = option_take_truth, .target = OPTION_TARGET(bool, field)
#define CHOICE(field) .take = option_take_choice, .target = OPTION_TARGET(unsigned, field)

static const struct option_row rows[] = {
        { .option = { "device-split-count", "N", "vGPUs per GPU, 10 by default", NULL },
          .take = option_take_whole,
          .target = OPTION_TARGET(unsigned, split_count),
          .most = 1000,
          .is_of_node = true },
        { .option = { "device-memory-scaling", "X",
                      "memory to offer per physical memory, 1 or more", NULL },
          .take = option_take_scaling,
          .target = OPTION_TARGET(double, memory_scaling),
          .is_of_node = true },
        { .option = { "device-cores-scaling", "X", "cores to offer per core of the GPU, 1 or more",
                      NULL },
          .take = option_take_scaling,
          .target = OPTION_TARGET(double, cores_scaling),
          .is_of_node = true },
        { .option = { "device-memory-factor", "N",
                      "MiB in one unit of nvidia.com/vgpu-memory, 1 by default", NULL },
          .take = option_take_whole,
          .target = OPTION_TARGET(unsigned, memory_factor),
          .most = 1 << 20,
          .is_of_node = true },
        { .option = { "exclude-devices", "LIST", "GPUs not to share: indices 0,2 or 0..2, or UUIDs",
                      NULL },
          .take = take_exclude,
          .is_of_node = true },
        { .option = { "mig-strategy", "HOW",
                      "offer MIG devices by profile (mixed, the default), as vGPUs (single) or not "
                      "(none)",
                      "none single mixed" },
          CHOICE(mig_strategy),
          .most = MIG_STRATEGY_MIXED,
          .is_of_node = true },
        { .option = { "memory-units", "yes|no",
                      "offer gpu.das.com/mem, one for each GB of the GPUs; yes by default",
                      "yes no" },
          TRUTH(offers_memory),
          .yes = 0,
          .is_of_node = true },
        { .option = { "metrics-listen", "ADDRESS",
                      "serve /metrics, /healthz and /readyz there, such as 0.0.0.0:9394", NULL },
          .take = option_take_address,
          .target = OPTION_TARGET(struct address, metrics_address) },
        { .option = { "metrics-auth", "none|kubernetes",
                      "kubernetes: /metrics needs a bearer token that the API server allows to get "
                      "it; none by default",
                      "none kubernetes" },
          TRUTH(is_metrics_authorized),
          .yes = 1 },
        { .option = { "metrics-tls", NULL, "serve --metrics-listen over HTTPS", NULL },
          FLAG(has_metrics_tls) },
        { .option = { "metrics-certificate", "FILE",
                      "with --metrics-tls: mounted certificate, read again when it changes; until "
                      "it exists, vgpu-node uses one of its own",
                      "file" },
          TEXT(metrics_certificate) },
        { .option = { "metrics-key", "FILE", "its key", "file" }, TEXT(metrics_key) },
        { .option = { "node-config-path", "FILE",
                      "settings of single nodes, which override options; see vgpu-node(8)",
                      "file" },
          TEXT(config_path) },
        { .option = { "domain", "NAME",
                      "domain of resource names, instead of nvidia.com; set it for all programs",
                      NULL },
          .take = take_domain },
        { .option = { "resource-name", "NAME",
                      "advertise this count resource instead of all; may be repeated", NULL },
          .take = take_resource },
        { .option = { "device-plugin-path", "DIR",
                      "kubelet's folder of device plugins, /var/lib/kubelet/device-plugins by "
                      "default",
                      "file" },
          TEXT(plugin_path) },
        { .option = { "node-name", "NAME", "register the GPUs on this Node; default: NODE_NAME",
                      NULL },
          TEXT(node_name) },
        { .option = { "kubeconfig", "FILE", "how to reach the API server", "file" },
          TEXT(kubeconfig) },
        { .option = { "volcano", NULL, "also register the GPUs for Volcano's scheduler", NULL },
          FLAG(uses_volcano) },
        { .option = { "health-recovery", "SECONDS",
                      "without errors before a GPU counts as healthy, 60 by default", NULL },
          .take = option_take_seconds,
          .target = OPTION_TARGET(unsigned, quiet_ms),
          .most = SECONDS_MOST,
          .is_of_node = true },
        { .option = { "driver-timeout", "SECONDS",
                      "after which a silent driver counts as hanging, 30 by default", NULL },
          .take = option_take_seconds,
          .target = OPTION_TARGET(unsigned, hang_ms),
          .most = SECONDS_MOST,
          .is_of_node = true },
        { .option = { "state-dir", "DIR", "folder of the shares, /var/lib/vgpu by default",
                      "file" },
          TEXT(state_folder) },
        { .option = { "run-dir", "DIR", "folder of the sockets, /run/vgpu by default", "file" },
          TEXT(run_folder) },
        { .option = { "env-ceiling", "none|gpu",
                      "gpu: a container's variables may raise its limits to what the GPU has left",
                      "none gpu" },
          CHOICE(env_ceiling),
          .most = ENV_CEILING_GPU,
          .alias = "card" },
        { .option = { "violation-policy", "HOW",
                      "for containers that use more than their share: report (the default), "
                      "throttle or evict",
                      "report throttle evict" },
          CHOICE(violation_policy),
          .most = VIOLATION_POLICY_EVICT },
        { .option = { "standalone", NULL,
                      "no Kubernetes: serve the containers that vgpu-runtime makes shares for",
                      NULL },
          FLAG(is_standalone) },
        { .option = { "runtime-state", "DIR",
                      "vgpu-runtime's folder (/run/vgpu/runtime), with --standalone", "file" },
          TEXT(runtime_state) },
        { .option = { "pod-resources-socket", "PATH",
                      "kubelet's socket, /var/lib/kubelet/pod-resources/kubelet.sock by "
                      "default",
                      "file" },
          TEXT(pod_resources) },
        { .option = { "scheduler", "ADDRESS",
                      "vgpu-scheduler's address, asked for shares the watch has not reported",
                      NULL },
          .take = option_take_address,
          .target = OPTION_TARGET(struct address, scheduler) },
        { .option = { "scheduler-name", "NAME",
                      "name in its certificate; vgpu-scheduler.vgpu-system.svc by default", NULL },
          TEXT(scheduler_name) },
        { .option = { "scheduler-certificate", "DIR",
                      "folder of tls.crt, tls.key and ca.crt; /etc/vgpu/scheduler by default",
                      "file" },
          TEXT(scheduler_folder) },
        { .option = { "oversold-host-memory", "SIZE",
                      "what an oversold container may have on the host, the GPU's size by default",
                      NULL },
          .take = option_take_bytes,
          .target = OPTION_TARGET(uint64_t, oversold_host_bytes) },
        { .option = { "context-memory", "count|exempt",
                      "whether contexts count towards a container's memory, count by default",
                      "count exempt" },
          TRUTH(is_context_exempt),
          .yes = 1 },
        { .option = { "sim-driver", "FOLDER",
                      "with a simulated machine (VGPU_SIM): the driver for its containers",
                      "file" },
          TEXT(sim_driver) },
        { .option = { "confine", "yes|no",
                      "give up system calls and capabilities not needed; yes by default",
                      "yes no" },
          TRUTH(is_unconfined),
          .yes = 1 },
        { .option = { "open-kernel-modules", NULL,
                      "the driver reports pids of the container's namespace", NULL },
          FLAG(has_open_modules) },
        { .option = { "version", NULL, "print the version", NULL }, .take = take_version },
};

enum { ROWS = sizeof rows / sizeof *rows };

/* "deviceSplitCount" as an option writes it: what differs is the slip then, and not the way of writing. */
static void key_dash(const char *key, char *ret_text, size_t bytes)
{
        size_t length = 0;

        for (; *key && length + 2 < bytes; key++) {
                if (isupper((unsigned char)*key) || *key == '_')
                        ret_text[length++] = '-';
                if (*key != '_')
                        ret_text[length++] = (char)tolower((unsigned char)*key);
        }
        ret_text[length] = '\0';
}

static int refuse_key(const char *key, struct err *e)
{
        struct nearest nearest = { 0 };
        char hint[80], typed[64];

        key_dash(key, typed, sizeof typed);
        for (int i = 0; i < ROWS; i++)
                if (rows[i].is_of_node)
                        nearest_offer(&nearest, typed, rows[i].option.name);
        return err_set(e, -EINVAL, "unknown key '%.60s'%s", key,
                       nearest_text(&nearest, "", hint, sizeof hint));
}

static int take_config(void *owner, const char *key, const char *value, struct err *e)
{
        struct node_options *options = owner;

        for (int i = 0; i < ROWS; i++) {
                if (!rows[i].is_of_node || !node_config_key_is(key, rows[i].option.name))
                        continue;
                if (rows[i].take != take_exclude)
                        return option_row_take(options, &rows[i], value, e);
                free(options->config_exclude);
                options->config_exclude = strdup(value);
                return options->config_exclude
                               ? take_exclude(options, &rows[i], options->config_exclude, e)
                               : err_set(e, -ENOMEM, "out of memory");
        }
        return refuse_key(key, e);
}

/* Of the Node, or where there is none of the machine. */
static int read_config(struct node_options *options, struct err *e)
{
        struct utsname host = { 0 };

        if (!options->config_path)
                return 0;
        uname(&host);
        return node_config_load(options->config_path,
                                options->node_name ? options->node_name : host.nodename,
                                take_config, options, e);
}

void node_options_done(struct node_options *options)
{
        free(options->config_exclude);
}

/* A token is as good as a password: it crosses no network in plain text. */
static int check_metrics(const struct node_options *options, struct err *e)
{
        if (!options->metrics_certificate != !options->metrics_key)
                return err_set(e, -EINVAL,
                               "--metrics-certificate and --metrics-key belong together");
        if (options->metrics_certificate && !options->has_metrics_tls)
                return err_set(e, -EINVAL, "--metrics-certificate needs --metrics-tls");
        if (!options->is_metrics_authorized || !options->metrics_address.length)
                return 0;
        if (options->is_standalone || !options->node_name)
                return err_set(e, -EINVAL,
                               "--metrics-auth=kubernetes needs an API server: give --node-name, "
                               "and not --standalone");
        if (!options->has_metrics_tls && !address_is_local(&options->metrics_address))
                return err_set(e, -EINVAL,
                               "--metrics-auth=kubernetes needs --metrics-tls, except on loopback");
        return 0;
}

static void print_help(const struct cli_option *options)
{
        printf("Usage: vgpu-node [OPTION]…\n\n"
               "Shares the GPUs of this node: advertises vGPUs to kubelet, registers the GPUs "
               "with\n"
               "the API server, and gives each container the share in its pod's "
               "allocation.\n\nOptions:\n");
        cli_option_print(options);
        printf("  %-26s %s\n", "--help", "print this text");
}

int node_options_parse(int argc, char **argv, struct node_options *ret_options, struct err *e)
{
        struct node_options options = { .plugin_path = "/var/lib/kubelet/device-plugins",
                                        .node_name = getenv("NODE_NAME"),
                                        .state_folder = "/var/lib/vgpu",
                                        .run_folder = "/run/vgpu",
                                        .scheduler_name = "vgpu-scheduler.vgpu-system.svc",
                                        .scheduler_folder = "/etc/vgpu/scheduler",
                                        .runtime_state = "/run/vgpu/runtime",
                                        .pod_resources =
                                                "/var/lib/kubelet/pod-resources/kubelet.sock",
                                        .split_count = 10,
                                        .memory_factor = 1,
                                        .memory_scaling = 1,
                                        .cores_scaling = 1,
                                        .mig_strategy = MIG_STRATEGY_MIXED,
                                        .offers_memory = true };
        struct cli_option scanned[ROWS + 1];
        struct cli_scan scan = {
                .program = "vgpu-node", .rows = scanned, .argc = argc - 1, .argv = argv + 1
        };
        int row, r = 0;

        option_rows_copy(rows, ROWS, scanned);
        /* The image's command names the part of the program, as users are used to. */
        if (scan.argc > 0 && strcmp(scan.argv[0], "deviceplugin") == 0) {
                scan.argc--;
                scan.argv++;
        }
        while (r == 0 && (row = cli_scan_next(&scan, e)) != CLI_END) {
                if (row == CLI_HELP) {
                        print_help(scanned);
                        return 1;
                }
                if (row == CLI_BAD)
                        return -EINVAL;
                if (row == CLI_PLAIN)
                        return err_set(e, -EINVAL,
                                       "unexpected argument '%.100s'; see 'vgpu-node --help'",
                                       scan.value);
                r = option_row_take(&options, &rows[row], scan.value, e);
        }
        if (r == 1)
                return 1;
        if (r == 0)
                r = read_config(&options, e);
        if (r == 0 && options.uses_volcano && options.memory_factor != 1)
                r = err_set(e, -EINVAL,
                            "--volcano counts memory in MiB: leave --device-memory-factor at 1");
        if (r == 0)
                r = check_metrics(&options, e);
        if (r == 0 && !options.resources[0])
                r = add_all_resources(&options, e);
        if (r == 0)
                r = check_resources(&options, e);
        if (r == 0)
                *ret_options = options;
        else
                node_options_done(&options);
        return r;
}
