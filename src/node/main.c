/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu-node: shares the GPUs of a node. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations_service.h"
#include "boot_id.h"
#include "clock.h"
#include "code_trim.h"
#include "folder_watch.h"
#include "gpu_watch.h"
#include "instance_lock.h"
#include "kube_client.h"
#include "list.h"
#include "log.h"
#include "loop_process.h"
#include "metrics_server.h"
#include "node_calls.h"
#include "node_options.h"
#include "node_services.h"
#include "node_status.h"
#include "offers.h"
#include "own_containers.h"
#include "pod_notes.h"
#include "pod_resources.h"
#include "pod_watch.h"
#include "pre_start.h"
#include "registration.h"
#include "registration_text.h"
#include "share_book.h"
#include "usage_sample.h"

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE };

struct node {
        struct node_options options;
        struct instance_lock state_lock, plugin_lock; /* until the process ends */
        struct gpu_watch *gpus;
        struct gpu_set set; /* as last reported */
        struct loop *loop;
        struct loop_signals signals;
        struct folder_watch folder;
        struct offers *offers;      /* NULL until the GPUs are known */
        struct kube_client *client; /* NULL: no registration */
        struct registration *registration;
        struct share_book *shares; /* NULL without a cluster, like those who use it: */
        struct node_services *services;
        struct allocations_service allocations;
        struct scheduler_fallback fallback;
        struct pod_resources *pod_resources;
        struct pre_start *pre_start;
        struct mig_starts starts;
        struct pod_watch *pods;         /* NULL until the GPUs are known */
        struct own_containers own;      /* of --standalone */
        struct metrics_server *metrics; /* NULL: not asked for */
        struct node_usage *usage;       /* NULL: out of memory; regions are all that tells */
        struct timer trim, retry;
        uint64_t started_ns;
        bool is_troubled; /* said so already */
        int result;
};

static void on_signal(struct loop_signals *signals, int number)
{
        struct node *node = container_of(signals, struct node, signals);

        log_info("ending by signal %d", number);
        loop_stop(node->loop);
}

static void on_plugin_folder(struct folder_watch *folder)
{
        struct node *node = container_of(folder, struct node, folder);

        instance_lock_follow(&node->plugin_lock);
        offers_check(node->offers);
}

/* The GPUs are known: so is what shares of them are. */
static int start_sharing(struct node *node, struct err *e)
{
        const struct pod_watch_options options = {
                .client = node->client,
                .shares = node->shares,
                .gpus = &node->set,
                .fit = node_services_fit(node->services),
                .node_name = node->options.node_name,
                .terms = { .memory_scaling = node->options.memory_scaling,
                           .host_bytes = node->options.oversold_host_bytes,
                           .is_context_exempt = node->options.is_context_exempt,
                           .speaks_own_pids = node->options.has_open_modules },
        };
        const int r = pod_watch_new(&options, &node->pods);

        if (r < 0)
                return err_set(e, r, "cannot watch the pods: %s", strerror(-r));
        node->allocations.pods = node->pods;
        node->fallback.pods = node->pods;
        return 0;
}

/* The GPUs are known: they are published to kubelet and the API server. */
static int start_publishing(struct node *node, struct err *e)
{
        const struct offers_peers peers = { .pre_start = node->pre_start,
                                            .starts = node->shares ? &node->starts : NULL,
                                            .pod_resources = node->pod_resources };
        int r = offers_new(node->loop, &node->options, &peers, &node->offers);

        if (r == 0)
                r = offers_update(node->offers, &node->set);
        if (r < 0)
                return err_set(e, r, "cannot serve kubelet in '%s': %s", node->options.plugin_path,
                               strerror(-r));
        node->folder.on_change = on_plugin_folder;
        node->folder.path = node->options.plugin_path;
        r = folder_watch_open(node->loop, &node->folder);
        if (r < 0)
                return err_set(e, r, "cannot watch '%s': %s", node->folder.path, strerror(-r));
        if (node->client) {
                const struct registration_content content =
                        registration_content_make(&node->set, &node->options);

                r = registration_new(node->client, node->options.node_name, &content,
                                     &node->registration);
        }
        if (r < 0)
                return err_set(e, r, "out of memory");
        return node->client ? start_sharing(node, e) : 0;
}

static void log_health(const struct gpu_set *before, const struct gpu_set *now)
{
        for (unsigned i = 0; i < now->count && i < before->count; i++)
                if (before->gpus[i].is_healthy != now->gpus[i].is_healthy)
                        log_warn("GPU %u (%s) is %s", now->gpus[i].index, now->gpus[i].uuid,
                                 now->gpus[i].is_healthy ? "healthy again"
                                                         : "unhealthy: it gets no new containers");
}

static void on_gpus(void *owner, const struct gpu_set *set)
{
        struct node *node = owner;
        const bool is_first = !node->offers;
        struct err e = { 0 };

        log_health(&node->set, set);
        node->set = *set;
        if (node->services)
                node_services_set_gpus(node->services, set);
        if (node->services && node_services_watch(node->services, node->gpus) < 0)
                log_warn("out of memory: containers are not checked");
        if (node->options.is_standalone)
                return;
        if (is_first) {
                log_info("%u GPUs, %u vGPUs each", set->count, node->options.split_count);
                node->result = start_publishing(node, &e);
                if (node->result < 0) {
                        log_error("%s", e.text);
                        loop_stop(node->loop);
                }
                return;
        }
        if (offers_update(node->offers, &node->set) < 0)
                log_warn("out of memory: not all changes are published to kubelet");
        if (node->registration) {
                const struct registration_content content =
                        registration_content_make(&node->set, &node->options);

                registration_set(node->registration, &content);
        }
}

/* Only where somebody can ask for it. */
static void on_gpu_sample(void *owner)
{
        struct node *node = owner;

        if (node->usage && (node->services || node->metrics))
                node_usage_sample(node->usage, node->gpus, node->shares);
}

static void on_gpu_trouble(void *owner, const struct err *e)
{
        struct node *node = owner;

        if (!node->is_troubled || e->code == -ETIMEDOUT)
                log_warn("%s", e->text);
        node->is_troubled = true;
}

static void on_share_change(void *owner, struct held_share *held)
{
        struct node *node = owner;

        if (node->client)
                pod_notes_allocation(node->client, held, NULL);
}

static void on_violation(void *owner, const struct held_share *held, enum violation violation,
                         const char *sentence)
{
        struct node *node = owner;
        char text[USAGE_SENTENCE + 128];

        (void)violation;
        if (!node->client)
                return;
        snprintf(text, sizeof text, "container '%s' uses more of a GPU than its share: %s",
                 held->container, sentence);
        pod_notes_event(node->client, held, node->options.node_name, KUBE_REASON_SHARE_VIOLATION,
                        text);
}

static void on_evict(void *owner, const struct held_share *held, const char *sentence)
{
        struct node *node = owner;

        log_warn("evicting pod %s/%s: %s", held->pod_namespace, held->pod, sentence);
        pod_notes_evict(node->client, held);
}

enum { RETRY_MS = 250 };

static void on_retry(struct timer *timer)
{
        struct node *node = container_of(timer, struct node, retry);

        timer->on_due = on_retry;
        if (share_book_retry(node->shares))
                loop_timer_set(node->loop, timer, RETRY_MS * NS_PER_MS);
}

static int open_shares(struct node *node, struct err *e)
{
        const struct node_services_options options = {
                .run_folder = node->options.run_folder,
                .memory_scaling = node->options.memory_scaling,
                .cores_scaling = node->options.cores_scaling,
                .env_ceiling = node->options.env_ceiling,
                .violation_policy = node->options.violation_policy,
                .usage = node->usage,
                .on_change = on_share_change,
                .on_violation = on_violation,
                .on_evict = node->options.is_standalone ? NULL : on_evict,
                .owner = node,
                .on_stranger = node->options.is_standalone ? own_containers_check : NULL,
                .stranger_owner = &node->own,
        };
        char boot[BOOT_ID_BYTES];
        int r = boot_id_read(boot);

        if (r < 0)
                return err_set(e, r, "cannot read the boot id: %s", strerror(-r));
        r = share_book_open(node->options.state_folder, boot, &node->shares, e);
        if (r == 0)
                on_retry(&node->retry);
        if (r == 0)
                r = node_services_new(node->loop, node->shares, &options, &node->services, e);
        if (r < 0 || !node->options.is_standalone)
                return r;
        node->own.folder = node->options.runtime_state;
        node->own.book = node->shares;
        r = own_containers_open(node->loop, &node->own);
        return r < 0 ? err_set(e, r, "cannot watch '%.100s': %s", node->own.folder, strerror(-r))
                     : 0;
}

/* Shares that are there are given from the first moment on. */
static int serve_shares(struct node *node, struct err *e)
{
        int r = pod_resources_new(node->loop, node->options.pod_resources, &node->pod_resources);

        mig_starts_init(&node->starts);
        if (r == 0)
                r = pre_start_new(node->loop, node->pod_resources, node->shares,
                                  node->options.scheduler.length ? &node->fallback : NULL,
                                  &node->pre_start);
        if (r < 0)
                return err_set(e, r, "cannot ask kubelet at '%.100s': %s",
                               node->options.pod_resources, strerror(-r));
        node->fallback = (struct scheduler_fallback){
                .loop = node->loop,
                .scheduler = node->options.scheduler,
                .server_name = node->options.scheduler_name,
                .folder = node->options.scheduler_folder,
                .node_name = node->options.node_name,
        };
        node->allocations = (struct allocations_service){
                .shares = node->shares,
                .pod_resources = node->pod_resources,
                .starts = &node->starts,
                .gpus = &node->set,
                .speaks_own_pids = node->options.has_open_modules,
                .fallback = node->options.scheduler.length ? &node->fallback : NULL,
                .run_folder = node->options.run_folder,
                .machine = getenv("VGPU_SIM"),
                .driver = getenv("VGPU_SIM") ? node->options.sim_driver : NULL,
        };
        r = grpc_server_add(node_services_server(node->services), allocations_service_methods,
                            &node->allocations);
        return r < 0 ? err_set(e, r, "out of memory") : 0;
}

static int connect_cluster(struct node *node, struct err *e)
{
        struct kube_config config = { 0 };
        int r;

        if (node->options.is_standalone || !node->options.node_name)
                return 0;
        r = kube_config_load(node->options.kubeconfig, &config, e);
        if (r == 0)
                r = kube_client_new(node->loop, &config, &node->client, e);
        kube_config_done(&config);
        return r;
}

/* Before there are threads, and before anybody from outside has said a word. */
static void confine(const struct node *node)
{
        const struct confinement confinement = node_confinement(node->options.is_standalone);
        struct err e = { 0 };

        if (!node->options.is_unconfined && confinement_enter(&confinement, &e) < 0)
                log_warn("running unconfined: %s", e.text);
}

static int start_shares(struct node *node, struct err *e)
{
        int r = 0;

        if (node->options.is_standalone || node->client)
                r = open_shares(node, e);
        instance_lock_follow(&node->state_lock); /* the first start has made the folder */
        return r == 0 && node->client ? serve_shares(node, e) : r;
}

static struct node_parts parts_of(const struct node *node)
{
        return (struct node_parts){ .options = &node->options,
                                    .gpus = node->gpus,
                                    .shares = node->shares,
                                    .usage = node->usage,
                                    .offers = node->offers,
                                    .registration = node->registration,
                                    .pods = node->pods,
                                    .audit = node_services_audit(node->services),
                                    .started_ns = node->started_ns };
}

static int print_metrics(void *owner, struct str *out)
{
        const struct node_parts parts = parts_of(owner);

        return node_status_print(&parts, out);
}

static bool is_ready(void *owner, struct str *reasons)
{
        const struct node_parts parts = parts_of(owner);

        return node_status_is_ready(&parts, reasons);
}

static int serve_metrics(struct node *node, struct err *e)
{
        const struct status_source source = { print_metrics, is_ready, node };

        node->started_ns = clock_now_ns();
        if (!node->options.metrics_address.length)
                return 0;
        return metrics_server_new(node->loop, &node->options, node->client, &source, &node->metrics,
                                  e);
}

enum { TRIM_S = 30 };

static void on_trim(struct timer *timer)
{
        struct node *node = container_of(timer, struct node, trim);

        code_trim();
        loop_timer_set(node->loop, timer, TRIM_S * NS_PER_S);
}

/* Two that register the same names take them from each other, and two that keep the same shares lose some. */
static int be_the_only_one(struct node *node, struct err *e)
{
        int r = instance_lock_open(&node->state_lock, node->options.state_folder, INSTANCE_WAIT_MS,
                                   e);

        if (r == 0 && !node->options.is_standalone)
                r = instance_lock_open(&node->plugin_lock, node->options.plugin_path,
                                       INSTANCE_WAIT_MS, e);
        return r;
}

static int node_start(struct node *node, struct err *e)
{
        const struct gpu_watch_options gpus = { .exclude = node->options.exclude,
                                                .quiet_ms = node->options.quiet_ms,
                                                .hang_ms = node->options.hang_ms,
                                                .on_change = on_gpus,
                                                .on_sample = on_gpu_sample,
                                                .on_trouble = on_gpu_trouble,
                                                .owner = node };
        int r = be_the_only_one(node, e);

        if (r < 0)
                return r;
        node->usage = node_usage_new();
        r = loop_new(&node->loop);
        if (r == 0) {
                node->signals.on_signal = on_signal;
                r = loop_signals_open_ends(node->loop, &node->signals);
        }
        if (r == 0)
                r = connect_cluster(node, e);
        if (r == 0) {
                confine(node);
                r = start_shares(node, e);
        }
        if (r == 0)
                r = gpu_watch_new(node->loop, &gpus, &node->gpus);
        if (r == 0)
                r = serve_metrics(node, e);
        node->trim.on_due = on_trim;
        if (r == 0)
                loop_timer_set(node->loop, &node->trim, TRIM_S * NS_PER_S / 10);
        return r;
}

static void node_end(struct node *node)
{
        if (!node->loop)
                return;
        metrics_server_free(node->metrics);
        gpu_watch_quiet(node->gpus);
        folder_watch_close(&node->folder);
        offers_free(node->offers);
        registration_free(node->registration);
        pod_watch_free(node->pods);
        node->allocations.pods = NULL; /* whoever asks now, asks again */
        own_containers_close(&node->own);
        loop_timer_clear(node->loop, &node->retry);
        node_services_free(node->services);
        node_usage_free(node->usage);
        pre_start_free(node->pre_start);
        pod_resources_free(node->pod_resources);
        mig_starts_done(&node->starts);
        share_book_close(node->shares);
        kube_client_free(node->client);
        gpu_watch_free(node->gpus);
        loop_signals_close(&node->signals);
        loop_free(node->loop);
}

/* One heap for all threads, of which two allocate little; and what is large by itself, so that what was
 * never touched of it costs nothing, and what is freed is given back. */
static void memory_be_small(void)
{
        mallopt(M_ARENA_MAX, 1);
        mallopt(M_MMAP_THRESHOLD, 32 << 10);
}

int main(int argc, char **argv)
{
        struct node node = { 0 };
        struct err e = { 0 };
        int r;

        log_open("node", LOG_LEVEL_INFO);
        memory_be_small();
        r = node_options_parse(argc, argv, &node.options, &e);
        if (r == 1)
                return EXIT_OK;
        if (r < 0) {
                fprintf(stderr, "vgpu-node: %s\n", e.text);
                return EXIT_USAGE;
        }
        r = node_start(&node, &e);
        if (r == 0)
                r = loop_run(node.loop);
        else
                log_error("%s", e.code ? e.text : strerror(-r));
        node_end(&node);
        node_options_done(&node.options);
        return r < 0 || node.result < 0 ? EXIT_FAILED : EXIT_OK;
}
