/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu-scheduler: from a pod's request to the best GPU. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocations.h"
#include "certificates.h"
#include "clock.h"
#include "extender.h"
#include "heap_trim.h"
#include "kube_authorizer.h"
#include "lease.h"
#include "list.h"
#include "log.h"
#include "loop_process.h"
#include "scheduler_calls.h"
#include "settings_scheduler.h"
#include "status_server.h"

/* The program: one of each. */
struct scheduler {
        struct scheduler_settings settings;
        struct loop *loop;
        struct loop_signals signals;
        struct kube_config config;
        struct kube_client *client;
        struct state *state;
        struct preempting *preempting;
        struct certificates *certificates;
        struct kube_authorizer *authorizer; /* NULL: everybody may read */
        struct extender *extender;
        struct allocations *allocations; /* NULL: nobody asks */
        struct status_server *status;    /* NULL: not asked for */
        struct lease *lease;             /* NULL: it is the only one */
        struct heap_trim trim;
        bool has_failed;
};

static void on_released(void *owner)
{
        loop_stop(((struct scheduler *)owner)->loop);
}

static void on_drained(void *owner)
{
        struct scheduler *scheduler = owner;

        if (scheduler->lease)
                lease_release(scheduler->lease, on_released, scheduler);
        else
                loop_stop(scheduler->loop);
}

static void on_lead(void *owner, bool leads)
{
        struct scheduler *scheduler = owner;

        preempting_set_active(scheduler->preempting, leads);
        state_set_active(scheduler->state, leads);
        if (leads)
                log_info("leads");
        else
                log_info("leads no longer");
}

static const char *namespace_of(const struct scheduler *scheduler)
{
        if (scheduler->settings.namespace_name)
                return scheduler->settings.namespace_name;
        return scheduler->config.namespace_name ? scheduler->config.namespace_name : "default";
}

static int lease_start(struct scheduler *scheduler, struct err *e)
{
        const struct scheduler_settings *settings = &scheduler->settings;
        char identity[LEASE_IDENTITY], host[128] = "";
        struct lease_options campaign = { .namespace_name = namespace_of(scheduler),
                                          .name = settings->lease,
                                          .identity = identity,
                                          .on_change = on_lead,
                                          .owner = scheduler };

        if (!settings->elects)
                return 0;
        /* The same after a restart: then it need not wait for itself. */
        gethostname(host, sizeof host - 1);
        snprintf(identity, sizeof identity, "%s:%s", host, strrchr(settings->listen, ':') + 1);
        if (settings->identity)
                campaign.identity = settings->identity;
        preempting_set_active(scheduler->preempting, false);
        state_set_active(scheduler->state, false);
        return lease_new(scheduler->client, &campaign, &scheduler->lease) < 0
                       ? err_set(e, -ENOMEM, "out of memory")
                       : 0;
}

static void on_signal(struct loop_signals *signals, int number)
{
        struct scheduler *scheduler = container_of(signals, struct scheduler, signals);

        (void)number;
        if (scheduler->extender)
                extender_drain(scheduler->extender, on_drained, scheduler);
        else
                on_drained(scheduler);
}

static int print_metrics(void *owner, struct str *out)
{
        return extender_print_metrics(((struct scheduler *)owner)->extender, out);
}

static bool is_ready(void *owner, struct str *reasons)
{
        const bool is_synced = state_is_synced(((struct scheduler *)owner)->state);

        if (!is_synced)
                str_append(reasons, "the cluster is not known yet\n");
        return is_synced;
}

static int status_start(struct scheduler *scheduler, struct err *e)
{
        const struct status_source source = { print_metrics, is_ready, scheduler };
        const struct status_door door = {
                .address = &scheduler->settings.metrics_address,
                .tls = certificates_of_metrics(scheduler->certificates),
                .authorizer = kube_authorizer_http(scheduler->authorizer),
        };

        if (!scheduler->settings.metrics_listen)
                return 0;
        return status_server_new(scheduler->loop, &door, &source, &scheduler->status) < 0
                       ? err_set(e, -ENOMEM, "out of memory")
                       : 0;
}

static int extender_start(struct scheduler *scheduler, struct tls_context *tls, struct err *e)
{
        const struct extender_options extending = {
                .with_gpu = scheduler->settings.with_gpu,
                .node_policy = scheduler->settings.node_policy,
                .preempting = scheduler->preempting,
                .lease = scheduler->lease,
                .authorizer = kube_authorizer_http(scheduler->authorizer),
                .address = &scheduler->settings.listen_address,
                .tls = tls,
        };
        const int r = extender_new(scheduler->loop, scheduler->state, scheduler->client, &extending,
                                   &scheduler->extender, e);

        if (r == 0)
                log_info("serves on port %u", extender_port(scheduler->extender));
        return r < 0 ? r : status_start(scheduler, e);
}

static int allocations_start(struct scheduler *scheduler, struct err *e)
{
        const int r =
                allocations_listen(scheduler->allocations, &scheduler->settings.allocations_address,
                                   certificates_of_allocations(scheduler->certificates), e);

        if (r == 0)
                log_info("serves allocations on port %u", allocations_port(scheduler->allocations));
        return r;
}

static void on_certificates(void *owner)
{
        struct scheduler *scheduler = owner;
        struct err e = { 0 };
        int r = 0;

        if (!scheduler->extender)
                r = extender_start(scheduler, certificates_of_extender(scheduler->certificates),
                                   &e);
        if (r == 0 && scheduler->allocations)
                r = allocations_start(scheduler, &e);
        if (r == 0)
                return;
        log_error("%s", e.text);
        scheduler->has_failed = true;
        loop_stop(scheduler->loop);
}

static int start(struct scheduler *scheduler, struct err *e)
{
        const struct scheduler_settings *settings = &scheduler->settings;
        int r = kube_config_load(settings->kubeconfig, &scheduler->config, e);

        if (r == 0)
                r = kube_client_new(scheduler->loop, &scheduler->config, &scheduler->client, e);
        if (r == 0)
                r = state_new(scheduler->client, settings->with_gpu,
                              settings->patience_s * NS_PER_S, &scheduler->state);
        if (r == 0)
                r = preempting_new(scheduler->state, scheduler->client, &scheduler->preempting);
        if (r == 0 && settings->allocations)
                r = allocations_new(scheduler->loop, scheduler->state, &scheduler->allocations);
        if (r == 0)
                r = lease_start(scheduler, e);
        if (r == 0 && settings->is_metrics_authorized)
                r = kube_authorizer_new(scheduler->client, &scheduler->authorizer);
        if (r == 0)
                r = certificates_new(scheduler->client, settings, namespace_of(scheduler),
                                     on_certificates, scheduler, &scheduler->certificates, e);
        /* Without TLS nobody waits for certificates. */
        if (r == 0 && settings->is_plain)
                r = extender_start(scheduler, NULL, e);
        return r;
}

/* Its files are read, and nobody from outside has said a word. */
static void run(struct scheduler *scheduler)
{
        struct err e = { 0 };

        if (confinement_enter(&scheduler_confinement, &e) < 0)
                log_warn("running unconfined: %s", e.text);
        heap_trim_start(scheduler->loop, &scheduler->trim);
        loop_run(scheduler->loop);
        heap_trim_stop(&scheduler->trim);
}

static void finish(struct scheduler *scheduler)
{
        kube_authorizer_free(scheduler->authorizer); /* what waits for it is answered now */
        status_server_free(scheduler->status);
        extender_free(scheduler->extender);
        allocations_free(scheduler->allocations);
        certificates_free(scheduler->certificates);
        lease_free(scheduler->lease);
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
        static struct scheduler scheduler = { .signals = { .on_signal = on_signal } };
        struct err e = { 0 };
        int r, code;

        if (scheduler_settings_read(argc, argv, &scheduler.settings, &code) < 0)
                return code;
        log_open("scheduler", LOG_LEVEL_INFO);
        signal(SIGPIPE, SIG_IGN);
        r = loop_new(&scheduler.loop);
        if (r == 0)
                r = loop_signals_open_ends(scheduler.loop, &scheduler.signals);
        if (r == 0)
                r = start(&scheduler, &e);
        if (r < 0)
                log_error("%s", e.text[0] ? e.text : strerror(-r));
        else
                run(&scheduler);
        finish(&scheduler);
        return r < 0 || scheduler.has_failed ? 1 : 0;
}
