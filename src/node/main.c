/* vgpu-node: shares the GPUs of a node. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "folder_watch.h"
#include "gpu.h"
#include "kube_client.h"
#include "list.h"
#include "log.h"
#include "loop_process.h"
#include "node_options.h"
#include "plugin.h"
#include "registration.h"
#include "registration_text.h"

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE };

struct node {
        struct node_options options;
        struct gpu_set gpus;
        struct loop *loop;
        struct loop_signals signals;
        struct folder_watch folder;
        struct plugin *plugins[NODE_RESOURCES_MOST];
        struct kube_client *client; /* NULL: no registration */
        struct registration *registration;
};

static void on_signal(struct loop_signals *signals, int number)
{
        struct node *node = container_of(signals, struct node, signals);

        log_info("ending by signal %d", number);
        loop_stop(node->loop);
}

static void on_look(struct folder_watch *folder)
{
        struct node *node = container_of(folder, struct node, folder);

        for (unsigned i = 0; i < NODE_RESOURCES_MOST && node->plugins[i]; i++)
                plugin_look(node->plugins[i]);
}

static int start_plugins(struct node *node, struct err *e)
{
        const unsigned count = node->gpus.count * node->options.split_count;
        const struct slots slots = { .count = count, .healthy = count };
        int r = 0;

        for (unsigned i = 0; node->options.resources[i] && r == 0; i++)
                r = plugin_new(node->loop, node->options.plugin_path, node->options.resources[i],
                               &slots, &node->plugins[i]);
        if (r < 0)
                return err_set(e, r, "cannot serve kubelet in '%s': %s", node->options.plugin_path,
                               strerror(-r));
        node->folder.on_look = on_look;
        node->folder.path = node->options.plugin_path;
        r = folder_watch_open(node->loop, &node->folder);
        return r < 0 ? err_set(e, r, "cannot watch '%s': %s", node->folder.path, strerror(-r)) : 0;
}

static int start_registration(struct node *node, struct err *e)
{
        struct kube_config config = { 0 };
        int r;

        if (!node->options.node_name)
                return 0;
        r = kube_config_load(node->options.kubeconfig, &config, e);
        if (r == 0)
                r = kube_client_new(node->loop, &config, &node->client, e);
        kube_config_done(&config);
        if (r < 0)
                return r;
        r = registration_new(node->client, node->options.node_name,
                             registration_devices(&node->gpus, &node->options),
                             registration_config(&node->options), &node->registration);
        return r < 0 ? err_set(e, r, "out of memory") : 0;
}

static int node_start(struct node *node, struct err *e)
{
        sigset_t set;
        int r;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        r = gpu_set_read(node->options.exclude, &node->gpus, e);
        if (r == 0)
                r = loop_new(&node->loop);
        if (r == 0) {
                node->signals.on_signal = on_signal;
                r = loop_signals_open(node->loop, &node->signals, &set);
        }
        if (r == 0)
                r = start_plugins(node, e);
        if (r == 0)
                r = start_registration(node, e);
        return r;
}

static void node_end(struct node *node)
{
        if (!node->loop)
                return;
        folder_watch_close(&node->folder);
        for (unsigned i = 0; i < NODE_RESOURCES_MOST; i++)
                plugin_free(node->plugins[i]);
        registration_free(node->registration);
        kube_client_free(node->client);
        loop_signals_close(&node->signals);
        loop_free(node->loop);
}

int main(int argc, char **argv)
{
        struct node node = { 0 };
        struct err e = { 0 };
        int r;

        log_open("node", LOG_LEVEL_INFO);
        r = node_options_parse(argc, argv, &node.options, &e);
        if (r == 1)
                return EXIT_OK;
        if (r < 0) {
                fprintf(stderr, "vgpu-node: %s\n", e.text);
                return EXIT_USAGE;
        }
        r = node_start(&node, &e);
        if (r == 0) {
                log_info("%u GPUs, %u vGPUs each", node.gpus.count, node.options.split_count);
                r = loop_run(node.loop);
        } else {
                log_error("%s", e.code ? e.text : strerror(-r));
        }
        node_end(&node);
        return r < 0 ? EXIT_FAILED : EXIT_OK;
}
