/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu-webhook: admission of GPU pods. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "enrolment.h"
#include "fleet.h"
#include "heap_trim.h"
#include "kube_authorizer.h"
#include "list.h"
#include "log.h"
#include "loop_process.h"
#include "server.h"
#include "settings.h"
#include "tls_keeper.h"
#include "webhook_calls.h"

enum { LEAF_DAYS = 365 };

/* The program: one of each. */
struct webhook {
        struct settings settings;
        struct loop *loop;
        struct kube_config config;
        struct kube_client *client;
        struct enrolment *enrolment;
        struct fleet *fleet; /* NULL: nodes are not watched */
        struct tls_keeper *keeper;
        struct kube_authorizer *authorizer; /* NULL: everybody may read metrics */
        struct server *server;
        struct loop_signals signals;
        struct heap_trim trim;
        char names_text[3][192];
        const char *names[5];
        bool has_failed;
};

static void webhook_fail(struct webhook *webhook, const struct err *e)
{
        log_error("%s", e->text);
        webhook->has_failed = true;
        loop_stop(webhook->loop);
}

static void on_certificate(void *owner, const struct err *e)
{
        (void)owner;
        if (e)
                log_warn("cannot renew the certificate, the old one stays in use: %s", e->text);
        else
                log_info("a new certificate is in use");
}

static int client_open(struct webhook *webhook, struct err *e)
{
        int r = 0;

        if (webhook->client)
                return 0;
        if (!webhook->config.host)
                r = kube_config_load(webhook->settings.kubeconfig, &webhook->config, e);
        return r < 0 ? r : kube_client_new(webhook->loop, &webhook->config, &webhook->client, e);
}

static int authorizer_start(struct webhook *webhook, struct err *e)
{
        int r;

        if (!webhook->settings.is_metrics_authorized)
                return 0;
        r = client_open(webhook, e);
        if (r < 0)
                return r;
        r = kube_authorizer_new(webhook->client, &webhook->authorizer);
        return r < 0 ? err_set(e, r, "cannot authorize readers of metrics: %s", strerror(-r)) : 0;
}

static int server_start(struct webhook *webhook, struct err *e)
{
        const struct server_options options = {
                .address = &webhook->settings.address,
                .tls = tls_keeper_context(webhook->keeper),
                .rules = &webhook->settings.rules,
                .authorizer = kube_authorizer_http(webhook->authorizer),
        };

        return server_new(webhook->loop, &options, &webhook->server, e);
}

static void serve(struct webhook *webhook, const struct tls_keeper_options *options)
{
        struct err e = { 0 };

        if (tls_keeper_new(webhook->loop, options, &webhook->keeper, &e) < 0 ||
            authorizer_start(webhook, &e) < 0 || server_start(webhook, &e) < 0) {
                webhook_fail(webhook, &e);
                return;
        }
        log_info("serves on port %u", server_port(webhook->server));
}

static void on_secret(void *owner, const struct tls_pair *authority,
                      const unsigned char seal_key[SEAL_KEY_BYTES])
{
        struct webhook *webhook = owner;
        const struct tls_keeper_options options = {
                .authority = authority,
                .names = webhook->names,
                .days = LEAF_DAYS,
                .on_change = on_certificate,
        };

        memcpy(webhook->settings.rules.seal.key, seal_key, SEAL_KEY_BYTES);
        serve(webhook, &options);
}

static void on_known(void *owner)
{
        struct webhook *webhook = owner;

        if (webhook->server)
                server_set_ready(webhook->server);
        log_info("the API server knows our certificate");
}

/* Without a file the key is this process's own: then another replica does not know our seals. */
static int seal_key_read(struct webhook *webhook, struct err *e)
{
        const char *path = webhook->settings.seal_key_path;
        unsigned char *key = webhook->settings.rules.seal.key;
        FILE *file;
        size_t count;

        if (!path)
                return getrandom(key, SEAL_KEY_BYTES, 0) == SEAL_KEY_BYTES
                               ? 0
                               : err_set(e, -errno, "cannot make a seal key: %s", strerror(errno));
        file = fopen(path, "re");
        if (!file)
                return err_set(e, -errno, "cannot read the seal key '%s': %s", path,
                               strerror(errno));
        count = fread(key, 1, SEAL_KEY_BYTES, file);
        fclose(file);
        return count == SEAL_KEY_BYTES
                       ? 0
                       : err_set(e, -EINVAL, "the seal key '%s' has fewer than %d bytes", path,
                                 SEAL_KEY_BYTES);
}

static void on_largest(void *owner, uint64_t largest_mib)
{
        ((struct webhook *)owner)->settings.rules.largest_device_mib = largest_mib;
}

/* Only for warnings: whoever cannot reach the API server, or may not see nodes, does without. */
static void fleet_start(struct webhook *webhook)
{
        struct err e = { 0 };

        if (client_open(webhook, &e) < 0) {
                log_info("cannot watch nodes: %s", e.text);
                return;
        }
        if (fleet_new(webhook->client, on_largest, webhook, &webhook->fleet) < 0)
                log_warn("out of memory: cannot watch nodes");
}

static void mounted_start(struct webhook *webhook)
{
        const struct tls_keeper_options options = {
                .certificate_path = webhook->settings.certificate_path,
                .key_path = webhook->settings.key_path,
                .on_change = on_certificate,
        };
        struct err e = { 0 };

        if (seal_key_read(webhook, &e) < 0) {
                webhook_fail(webhook, &e);
                return;
        }
        serve(webhook, &options);
        if (webhook->server)
                server_set_ready(webhook->server);
}

static void names_make(struct webhook *webhook, const char *namespace_name)
{
        const char *service = webhook->settings.service;

        snprintf(webhook->names_text[0], sizeof webhook->names_text[0], "%.63s.%.63s.svc", service,
                 namespace_name);
        snprintf(webhook->names_text[1], sizeof webhook->names_text[1],
                 "%.63s.%.63s.svc.cluster.local", service, namespace_name);
        webhook->names[0] = webhook->names_text[0];
        webhook->names[1] = webhook->names_text[1];
        webhook->names[2] = "localhost"; /* for those who forward a port */
        webhook->names[3] = "127.0.0.1";
}

static void own_start(struct webhook *webhook)
{
        const struct enrolment_events events = { on_secret, on_known, webhook };
        const char *namespace_name = webhook->settings.namespace_name;
        struct err e = { 0 };

        if (client_open(webhook, &e) < 0) {
                webhook_fail(webhook, &e);
                return;
        }
        if (!namespace_name)
                namespace_name =
                        webhook->config.namespace_name ? webhook->config.namespace_name : "default";
        names_make(webhook, namespace_name);
        if (enrolment_new(webhook->client, &webhook->settings, namespace_name, &events,
                          &webhook->enrolment) < 0) {
                err_set(&e, -ENOMEM, "out of memory");
                webhook_fail(webhook, &e);
        }
}

static void on_drained(void *owner)
{
        loop_stop(((struct webhook *)owner)->loop);
}

static void on_signal(struct loop_signals *signals, int number)
{
        struct webhook *webhook = container_of(signals, struct webhook, signals);

        (void)number;
        if (webhook->server)
                server_drain(webhook->server, on_drained, webhook);
        else
                loop_stop(webhook->loop);
}

static int webhook_open(struct webhook *webhook)
{
        int r;

        signal(SIGPIPE, SIG_IGN);
        r = loop_new(&webhook->loop);
        webhook->signals.on_signal = on_signal;
        return r < 0 ? r : loop_signals_open_ends(webhook->loop, &webhook->signals);
}

/* Its files are read, and nobody from outside has said a word. */
static void webhook_run(struct webhook *webhook)
{
        struct err e = { 0 };

        if (confinement_enter(&webhook_confinement, &e) < 0)
                log_warn("running unconfined: %s", e.text);
        heap_trim_start(webhook->loop, &webhook->trim);
        loop_run(webhook->loop);
        heap_trim_stop(&webhook->trim);
}

static void webhook_close(struct webhook *webhook)
{
        kube_authorizer_free(webhook->authorizer); /* what waits for it is answered now */
        server_free(webhook->server);
        tls_keeper_free(webhook->keeper);
        enrolment_free(webhook->enrolment);
        fleet_free(webhook->fleet);
        if (webhook->client)
                kube_client_free(webhook->client);
        kube_config_done(&webhook->config);
        loop_signals_close(&webhook->signals);
        loop_free(webhook->loop);
}

int main(int argc, char **argv)
{
        static struct webhook webhook;
        int code = 0;

        log_open("webhook", LOG_LEVEL_INFO);
        if (settings_read(argc, argv, &webhook.settings, &code) < 0)
                return code;
        const int r = webhook_open(&webhook);
        if (r < 0) {
                log_error("cannot create the event loop: %s", strerror(-r));
                return 1;
        }
        if (webhook.settings.certificate_path)
                mounted_start(&webhook);
        else
                own_start(&webhook);
        if (!webhook.has_failed) {
                fleet_start(&webhook);
                webhook_run(&webhook);
        }
        webhook_close(&webhook);
        return webhook.has_failed ? 1 : 0;
}
