/* vgpu-scheduler: from a pod's request to the best card. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli_option.h"
#include "extender.h"
#include "list.h"
#include "log.h"
#include "loop_process.h"
#include "tls_keeper.h"

enum { LISTEN, CERTIFICATE, KEY, PLAIN, KUBECONFIG, NODE_POLICY, NVIDIA_GPU, VERSION };

static const struct cli_option options[] = {
        [LISTEN] = { "listen", "ADDRESS", "where kube-scheduler calls; default: 127.0.0.1:8444",
                     NULL },
        [CERTIFICATE] = { "certificate", "FILE", "mounted certificate, read again when it changes",
                          "file" },
        [KEY] = { "key", "FILE", "its key", "file" },
        [PLAIN] = { "plain", NULL, "HTTP without TLS, on loopback only", NULL },
        [KUBECONFIG] = { "kubeconfig", "FILE", "how to reach the API server; default: as a pod",
                         "file" },
        [NODE_POLICY] = { "node-policy", "POLICY",
                          "where a pod does not say: binpack (the default) or spread",
                          "binpack spread" },
        [NVIDIA_GPU] = { "nvidia-gpu", NULL, "nvidia.com/gpu is ours too", NULL },
        [VERSION] = { "version", NULL, "print the version", NULL },
        { 0 },
};

/* The program: one of each. */
struct scheduler {
        const char *listen, *certificate_path, *key_path, *kubeconfig;
        bool is_plain, is_spread, with_gpu;
        struct loop *loop;
        struct loop_signals signals;
        struct kube_config config;
        struct kube_client *client;
        struct state *state;
        struct preempting *preempting;
        struct tls_keeper *keeper;
        struct extender *extender;
};

static int refuse(const char *sentence)
{
        fprintf(stderr, "vgpu-scheduler: %s\n", sentence);
        return 2;
}

static void help(void)
{
        printf("Usage: vgpu-scheduler [OPTION]…\n\n"
               "An extender of kube-scheduler: knows every card's free memory, cores and slots, "
               "filters and\nscores nodes for pods that ask for shares of GPUs, binds them with "
               "the "
               "decision, and sends away\npods of lower priority where there is no room. Serves "
               "/filter, /prioritize, /bind, /preempt,\n/simulate, /healthz, /readyz and "
               "/metrics.\n\nOptions:\n");
        cli_option_print(options);
        printf("  %-26s %s\n", "--help", "print this text");
}

/* −1: go on; else the exit code. */
static int option_take(struct scheduler *scheduler, int option, const char *value)
{
        switch (option) {
        case LISTEN:
                scheduler->listen = value;
                return -1;
        case CERTIFICATE:
                scheduler->certificate_path = value;
                return -1;
        case KEY:
                scheduler->key_path = value;
                return -1;
        case PLAIN:
                scheduler->is_plain = true;
                return -1;
        case KUBECONFIG:
                scheduler->kubeconfig = value;
                return -1;
        case NODE_POLICY:
                scheduler->is_spread = strcmp(value, "spread") == 0;
                return scheduler->is_spread || strcmp(value, "binpack") == 0
                               ? -1
                               : refuse("--node-policy is binpack or spread");
        case NVIDIA_GPU:
                scheduler->with_gpu = true;
                return -1;
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

static int options_read(struct scheduler *scheduler, int argc, char **argv)
{
        struct cli_scan scan = {
                .program = "vgpu-scheduler", .rows = options, .argc = argc, .argv = argv, .index = 1
        };
        struct err e = { 0 };
        int option;

        while ((option = cli_scan_next(&scan, &e)) != CLI_END) {
                if (option == CLI_BAD)
                        return refuse(e.text);
                const int code = option_take(scheduler, option, scan.value);

                if (code >= 0)
                        return code;
        }
        if (scheduler->is_plain == (scheduler->certificate_path || scheduler->key_path) ||
            !scheduler->certificate_path != !scheduler->key_path)
                return refuse("needs --certificate and --key, or --plain on loopback");
        if (scheduler->is_plain && strncmp(scheduler->listen, "127.", 4) != 0 &&
            strncmp(scheduler->listen, "[::1]", 5) != 0)
                return refuse("--plain listens on loopback only: 127.0.0.1 or [::1]");
        return -1;
}

static void on_certificate(void *owner, const struct err *e)
{
        (void)owner;
        if (e)
                log_warn("the certificate stays as it was: %s", e->text);
}

static void on_drained(void *owner)
{
        loop_stop(((struct scheduler *)owner)->loop);
}

static void on_signal(struct loop_signals *signals, int number)
{
        struct scheduler *scheduler = container_of(signals, struct scheduler, signals);

        (void)number;
        extender_drain(scheduler->extender, on_drained, scheduler);
}

static int start(struct scheduler *scheduler, struct err *e)
{
        const struct tls_keeper_options keeping = {
                .certificate_path = scheduler->certificate_path,
                .key_path = scheduler->key_path,
                .on_change = on_certificate,
        };
        struct extender_options extending = { .with_gpu = scheduler->with_gpu,
                                              .is_spread = scheduler->is_spread };
        struct address address;
        int r = address_parse(scheduler->listen, &address, e);

        if (r == 0)
                r = kube_config_load(scheduler->kubeconfig, &scheduler->config, e);
        if (r == 0)
                r = kube_client_new(scheduler->loop, &scheduler->config, &scheduler->client, e);
        if (r == 0 && !scheduler->is_plain)
                r = tls_keeper_new(scheduler->loop, &keeping, &scheduler->keeper, e);
        if (r == 0)
                r = state_new(scheduler->client, scheduler->with_gpu, &scheduler->state);
        if (r == 0)
                r = preempting_new(scheduler->state, scheduler->client, &scheduler->preempting);
        if (r < 0)
                return r;
        extending.address = &address;
        extending.preempting = scheduler->preempting;
        extending.tls = scheduler->keeper ? tls_keeper_context(scheduler->keeper) : NULL;
        return extender_new(scheduler->loop, scheduler->state, scheduler->client, &extending,
                            &scheduler->extender, e);
}

static void finish(struct scheduler *scheduler)
{
        extender_free(scheduler->extender);
        tls_keeper_free(scheduler->keeper);
        preempting_free(scheduler->preempting);
        state_free(scheduler->state);
        if (scheduler->client)
                kube_client_free(scheduler->client);
        kube_config_done(&scheduler->config);
        loop_signals_close(&scheduler->signals);
        loop_free(scheduler->loop);
}

int main(int argc, char **argv)
{
        static struct scheduler scheduler = { .listen = "127.0.0.1:8444",
                                              .signals = { .on_signal = on_signal } };
        const int code = options_read(&scheduler, argc, argv);
        struct err e = { 0 };
        sigset_t set;
        int r;

        if (code >= 0)
                return code;
        log_open("scheduler", LOG_LEVEL_INFO);
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        signal(SIGPIPE, SIG_IGN);
        r = loop_new(&scheduler.loop);
        if (r == 0)
                r = loop_signals_open(scheduler.loop, &scheduler.signals, &set);
        if (r == 0)
                r = start(&scheduler, &e);
        if (r < 0)
                log_error("%s", e.text[0] ? e.text : strerror(-r));
        else
                log_info("serves on port %u", extender_port(scheduler.extender));
        if (r == 0)
                loop_run(scheduler.loop);
        finish(&scheduler);
        return r < 0 ? 1 : 0;
}
