/* The command line of vgpu-node. */
#include "node_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli_option.h"
#include "gpu.h"
#include "nearest.h"
#include "node_config.h"
#include "quantity.h"
#include "resource.h"

enum {
        SPLIT_COUNT,
        MEMORY_SCALING,
        CORES_SCALING,
        MEMORY_FACTOR,
        EXCLUDE,
        MIG_STRATEGY,
        MEMORY_UNITS,
        METRICS,
        NODE_CONFIG,
        DOMAIN,
        RESOURCE,
        PLUGIN_PATH,
        NODE_NAME,
        KUBECONFIG,
        VOLCANO,
        QUIET,
        HANG,
        STATE,
        RUN,
        ENV_CEILING,
        CHEAT_POLICY,
        STANDALONE,
        RUNTIME_STATE,
        POD_RESOURCES,
        SCHEDULER,
        SCHEDULER_NAME,
        SCHEDULER_CERTIFICATE,
        HOST_MEMORY,
        CONTEXT_MEMORY,
        SIM_DRIVER,
        OPEN_MODULES,
        VERSION,
};

static const struct cli_option rows[] = {
        [SPLIT_COUNT] = { "device-split-count", "N", "vGPUs per GPU, 10 by default", NULL },
        [MEMORY_SCALING] = { "device-memory-scaling", "X",
                             "memory to hand out per memory there is, 1 or more", NULL },
        [CORES_SCALING] = { "device-cores-scaling", "X",
                            "compute to hand out per compute there is, 1 or more", NULL },
        [MEMORY_FACTOR] = { "device-memory-factor", "N",
                            "MiB in one unit of nvidia.com/vgpu-memory, 1 by default", NULL },
        [EXCLUDE] = { "exclude-devices", "LIST",
                      "GPUs to leave alone: indices 0,2 or 0..2, or UUIDs", NULL },
        [MIG_STRATEGY] = { "mig-strategy", "HOW",
                           "offer MIG devices by profile (mixed, the default), as vGPUs (single) "
                           "or not (none)",
                           "none single mixed" },
        [MEMORY_UNITS] = { "memory-units", "yes|no",
                           "offer gpu.das.com/mem, one for each GB of the GPUs; yes by default",
                           "yes no" },
        [METRICS] = { "metrics-listen", "ADDRESS",
                      "serve /metrics, /healthz and /readyz there: 0.0.0.0:9394", NULL },
        [NODE_CONFIG] = { "node-config-path", "FILE",
                          "settings of single nodes, which beat the options; see vgpu-node(8)",
                          "file" },
        [DOMAIN] = { "domain", "NAME",
                     "of resource names, in the place of nvidia.com; tell all programs of it",
                     NULL },
        [RESOURCE] = { "resource-name", "NAME",
                       "advertise this count resource instead of all; may be repeated", NULL },
        [PLUGIN_PATH] = { "device-plugin-path", "DIR",
                          "kubelet's folder, /var/lib/kubelet/device-plugins by default", "file" },
        [NODE_NAME] = { "node-name", "NAME",
                        "register the GPUs on this Node; NODE_NAME in the environment", NULL },
        [KUBECONFIG] = { "kubeconfig", "FILE", "how to reach the API server", "file" },
        [VOLCANO] = { "volcano", NULL, "tell Volcano's scheduler of the GPUs too", NULL },
        [QUIET] = { "health-recovery", "SECONDS",
                    "how long a GPU must be quiet after a trouble, 60 by default", NULL },
        [HANG] = { "driver-timeout", "SECONDS",
                   "when a silent driver counts as hanging, 30 by default", NULL },
        [STATE] = { "state-dir", "DIR", "where the shares are kept, /var/lib/vgpu by default",
                    "file" },
        [RUN] = { "run-dir", "DIR", "where the node's sockets are, /run/vgpu by default", "file" },
        [ENV_CEILING] = { "env-ceiling", "none|card",
                          "card: a container's variables may raise its limits to what the GPU has "
                          "left",
                          "none card" },
        [CHEAT_POLICY] = { "cheat-policy", "HOW",
                           "what becomes of containers that hold more than they say: report (the "
                           "default), throttle or evict",
                           "report throttle evict" },
        [STANDALONE] = { "standalone", NULL,
                         "no Kubernetes: serve the containers that vgpu-runtime makes shares for",
                         NULL },
        [RUNTIME_STATE] = { "runtime-state", "DIR",
                            "vgpu-runtime's folder (/run/vgpu/runtime), with --standalone",
                            "file" },
        [POD_RESOURCES] = { "pod-resources-socket", "PATH",
                            "kubelet's, /var/lib/kubelet/pod-resources/kubelet.sock by default",
                            "file" },
        [SCHEDULER] = { "scheduler", "ADDRESS",
                        "vgpu-scheduler's --allocations, asked when the watch of pods lags", NULL },
        [SCHEDULER_NAME] = { "scheduler-name", "NAME",
                             "in its certificate; vgpu-scheduler.vgpu-system.svc by default",
                             NULL },
        [SCHEDULER_CERTIFICATE] = { "scheduler-certificate", "DIR",
                                    "with tls.crt, tls.key and ca.crt; /etc/vgpu/scheduler by "
                                    "default",
                                    "file" },
        [HOST_MEMORY] = { "oversold-host-memory", "SIZE",
                          "what an oversold container may have on the host, the card's size by "
                          "default",
                          NULL },
        [CONTEXT_MEMORY] = { "context-memory", "count|exempt",
                             "whether contexts count towards a container's memory, count by "
                             "default",
                             "count exempt" },
        [SIM_DRIVER] = { "sim-driver", "FOLDER",
                         "with a simulated machine (VGPU_SIM): the driver for its containers",
                         "file" },
        [OPEN_MODULES] = { "open-kernel-modules", NULL,
                           "the driver tells each container its own pids, as open modules do",
                           NULL },
        [VERSION] = { "version", NULL, "print the version", NULL },
        { 0 },
};

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

enum { OPTION_TEXT = 48 };

/* "--device-split-count": by this name sentences speak of it, also where a file says it. */
static const char *option_text(int row, char text[static OPTION_TEXT])
{
        snprintf(text, OPTION_TEXT, "--%s", rows[row].name);
        return text;
}

static int take_whole(const char *text, int row, unsigned most, unsigned *ret_number, struct err *e)
{
        char name[OPTION_TEXT];
        uint64_t number;
        int r = quantity_parse_whole(text, option_text(row, name), 1, most, &number, e);

        if (r == 0)
                *ret_number = (unsigned)number;
        return r;
}

static int take_seconds(const char *text, int row, unsigned *ret_ms, struct err *e)
{
        int r = take_whole(text, row, 86400, ret_ms, e);

        if (r == 0)
                *ret_ms *= 1000;
        return r;
}

static int take_scaling(const char *text, int row, double *ret_scaling, struct err *e)
{
        char name[OPTION_TEXT];

        return quantity_parse_number(text, option_text(row, name), 1, 100, ret_scaling, e);
}

static int take_address(const char *text, int row, struct address *ret_address, struct err *e)
{
        char name[OPTION_TEXT];
        int r = address_parse(text, ret_address, e);

        return r < 0 ? err_context(e, r, option_text(row, name)) : 0;
}

/* The position of the word among those that the row offers. */
static int take_word(const char *text, int row, unsigned *ret_place, struct err *e)
{
        const char *words = rows[row].completion;
        unsigned place = 0;

        for (const char *at = words; *at; place++) {
                const size_t length = strcspn(at, " ");

                if (strlen(text) == length && strncmp(at, text, length) == 0) {
                        *ret_place = place;
                        return 0;
                }
                at += length + strspn(at + length, " ");
        }
        return err_set(e, -EINVAL, "--%s '%.60s' is none of: %s", rows[row].name, text, words);
}

/* One of the words that the row offers, in the order of their enum. */
static int take_choice(struct node_options *options, int row, const char *value, struct err *e)
{
        unsigned place = 0;
        int r = take_word(value, row, &place, e);

        if (r < 0)
                return r;
        if (row == MIG_STRATEGY)
                options->mig_strategy = place;
        else if (row == CHEAT_POLICY)
                options->cheat_policy = place;
        else if (row == ENV_CEILING)
                options->env_ceiling = place;
        else if (row == CONTEXT_MEMORY)
                options->is_context_exempt = place == 1;
        else
                options->offers_memory = place == 0;
        return 0;
}

/* Of an option without a value; NULL: it has one. */
static bool *flag_of(struct node_options *options, int row)
{
        switch (row) {
        case VOLCANO:
                return &options->is_volcanos;
        case STANDALONE:
                return &options->is_standalone;
        case OPEN_MODULES:
                return &options->has_open_modules;
        default:
                return NULL;
        }
}

/* Of an option that is kept as it is written. */
static const char **text_of(struct node_options *options, int row)
{
        switch (row) {
        case PLUGIN_PATH:
                return &options->plugin_path;
        case NODE_NAME:
                return &options->node_name;
        case NODE_CONFIG:
                return &options->config_path;
        case STATE:
                return &options->state_folder;
        case RUN:
                return &options->run_folder;
        case RUNTIME_STATE:
                return &options->runtime_state;
        case POD_RESOURCES:
                return &options->pod_resources;
        case SIM_DRIVER:
                return &options->sim_driver;
        case SCHEDULER_NAME:
                return &options->scheduler_name;
        case SCHEDULER_CERTIFICATE:
                return &options->scheduler_folder;
        default:
                return &options->kubeconfig;
        }
}

static int take(struct node_options *options, int row, const char *value, struct err *e)
{
        bool *flag = flag_of(options, row);

        if (flag) {
                *flag = true;
                return 0;
        }
        switch (row) {
        case SPLIT_COUNT:
                return take_whole(value, row, 1000, &options->split_count, e);
        case MEMORY_FACTOR:
                return take_whole(value, row, 1 << 20, &options->memory_factor, e);
        case MEMORY_SCALING:
                return take_scaling(value, row, &options->memory_scaling, e);
        case CORES_SCALING:
                return take_scaling(value, row, &options->cores_scaling, e);
        case QUIET:
                return take_seconds(value, row, &options->quiet_ms, e);
        case HANG:
                return take_seconds(value, row, &options->hang_ms, e);
        case RESOURCE:
                return add_resource(options, value, e);
        case EXCLUDE:
                options->exclude = value;
                return gpu_is_excluded(value, &(struct gpu){ 0 }, e) < 0 ? -EINVAL : 0;
        case DOMAIN:
                return resource_use_domain(value, e);
        case METRICS:
                return take_address(value, row, &options->metrics_address, e);
        case MIG_STRATEGY:
        case MEMORY_UNITS:
        case CHEAT_POLICY:
        case ENV_CEILING:
        case CONTEXT_MEMORY:
                return take_choice(options, row, value, e);
        case SCHEDULER:
                return take_address(value, row, &options->scheduler, e);
        case HOST_MEMORY:
                return quantity_parse_bytes(value, &options->oversold_host_bytes, e) < 0
                               ? err_context(e, -EINVAL, "--oversold-host-memory")
                               : 0;
        default:
                *text_of(options, row) = value;
                return 0;
        }
}

/* What may differ between nodes; the rest says how the program is run. */
static const int config_rows[] = { SPLIT_COUNT,   MEMORY_SCALING, CORES_SCALING,
                                   MEMORY_FACTOR, EXCLUDE,        MIG_STRATEGY,
                                   MEMORY_UNITS,  QUIET,          HANG };

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
        for (size_t i = 0; i < sizeof config_rows / sizeof *config_rows; i++)
                nearest_offer(&nearest, typed, rows[config_rows[i]].name);
        return err_set(e, -EINVAL, "unknown key '%.60s'%s", key,
                       nearest_text(&nearest, "", hint, sizeof hint));
}

static int take_config(void *owner, const char *key, const char *value, struct err *e)
{
        struct node_options *options = owner;

        for (size_t i = 0; i < sizeof config_rows / sizeof *config_rows; i++) {
                if (!node_config_key_is(key, rows[config_rows[i]].name))
                        continue;
                if (config_rows[i] != EXCLUDE)
                        return take(options, config_rows[i], value, e);
                free(options->config_exclude);
                options->config_exclude = strdup(value);
                return options->config_exclude ? take(options, EXCLUDE, options->config_exclude, e)
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

static void print_help(void)
{
        printf("Usage: vgpu-node [OPTION]…\n\n"
               "Shares the GPUs of this node: advertises vGPUs to kubelet, registers the GPUs "
               "with\n"
               "the API server, and gives each container the share that it was "
               "given.\n\nOptions:\n");
        cli_option_print(rows);
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
        struct cli_scan scan = {
                .program = "vgpu-node", .rows = rows, .argc = argc - 1, .argv = argv + 1
        };
        int row, r = 0;

        /* The image's command names the part of the program, as users are used to. */
        if (scan.argc > 0 && strcmp(scan.argv[0], "deviceplugin") == 0) {
                scan.argc--;
                scan.argv++;
        }
        while (r == 0 && (row = cli_scan_next(&scan, e)) != CLI_END) {
                if (row == CLI_HELP) {
                        print_help();
                        return 1;
                }
                if (row == VERSION) {
                        printf("vgpu-node %s\n", VGPU_VERSION);
                        return 1;
                }
                if (row == CLI_BAD)
                        return -EINVAL;
                if (row == CLI_WORD)
                        return err_set(e, -EINVAL, "what is '%.100s'? see 'vgpu-node --help'",
                                       scan.value);
                r = take(&options, row, scan.value, e);
        }
        if (r == 0)
                r = read_config(&options, e);
        if (r == 0 && options.is_volcanos && options.memory_factor != 1)
                r = err_set(e, -EINVAL,
                            "--volcano counts memory in MiB: leave --device-memory-factor at 1");
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
