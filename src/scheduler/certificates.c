/* SPDX-License-Identifier: Apache-2.0 */
/* Mounted, or made. */
#include "certificates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client_pass.h"
#include "kube_secret.h"
#include "list.h"
#include "log.h"
#include "str.h"
#include "tls_keeper.h"

enum { LEAF_DAYS = 365 };

struct certificates {
        struct kube_client *client;
        const struct scheduler_settings *settings;
        void (*on_ready)(void *owner);
        void *owner;
        struct loop_task ready;
        char namespace_name[64];
        struct kube_secret *secret;
        struct tls_pair authority;
        struct tls_keeper *extender, *allocations, *metrics;
        struct client_pass *pass;
        char names_text[3][192];
        const char *names[6];
};

static void on_change(void *owner, const struct err *e)
{
        (void)owner;
        if (e)
                log_warn("cannot renew the certificate, the old one stays in use: %s", e->text);
        else
                log_info("a new certificate is in use");
}

static void on_trouble(void *owner, const struct err *e)
{
        (void)owner;
        log_warn("%s", e->text);
}

static void names_make(struct certificates *certificates)
{
        const char *service = certificates->settings->service;

        snprintf(certificates->names_text[0], sizeof certificates->names_text[0], "%.63s.%.63s.svc",
                 service, certificates->namespace_name);
        snprintf(certificates->names_text[1], sizeof certificates->names_text[1],
                 "%.63s.%.63s.svc.cluster.local", service, certificates->namespace_name);
        snprintf(certificates->names_text[2], sizeof certificates->names_text[2],
                 "%.55s-metrics.%.63s.svc", service, certificates->namespace_name);
        certificates->names[0] = certificates->names_text[0];
        certificates->names[1] = certificates->names_text[1];
        certificates->names[2] = certificates->names_text[2];
        certificates->names[3] = "localhost"; /* for a kube-scheduler in the same pod */
        certificates->names[4] = "127.0.0.1";
}

/* For one of the servers, from files or from the authority; NULL: from one that nobody knows. */
static int keeper_new(struct certificates *certificates, const struct tls_pair *authority,
                      bool asks_clients, struct tls_keeper **ret_keeper, struct err *e)
{
        const struct scheduler_settings *settings = certificates->settings;
        const struct tls_keeper_options options = {
                .certificate_path = settings->certificate_path,
                .key_path = settings->key_path,
                .clients_path = asks_clients ? settings->clients_path : NULL,
                .authority = authority,
                .names = certificates->names,
                .days = LEAF_DAYS,
                .asks_clients = asks_clients,
                .on_change = on_change,
        };

        return tls_keeper_new(kube_client_loop(certificates->client), &options, ret_keeper, e);
}

static int keepers_new(struct certificates *certificates, struct err *e)
{
        const struct scheduler_settings *settings = certificates->settings;
        const struct tls_pair *authority = &certificates->authority;
        int r = 0;

        if (!settings->is_plain)
                r = keeper_new(certificates, authority, false, &certificates->extender, e);
        if (r == 0 && settings->allocations)
                r = keeper_new(certificates, authority, true, &certificates->allocations, e);
        if (r == 0 && certificates->metrics && !settings->certificate_path)
                r = tls_keeper_adopt(certificates->metrics, authority, e);
        return r;
}

static json_t *secret_make(void *owner, struct err *e)
{
        (void)owner;
        return kube_secret_authority("vgpu-scheduler", e);
}

static bool secret_take(void *owner, const json_t *data)
{
        struct certificates *certificates = owner;
        struct err e = { 0 };

        if (!kube_secret_take_authority(data, &certificates->authority))
                return false;
        if (keepers_new(certificates, &e) == 0)
                return true;
        log_error("%s", e.text);
        tls_keeper_free(certificates->extender);
        tls_keeper_free(certificates->allocations);
        certificates->extender = certificates->allocations = NULL;
        tls_pair_done(&certificates->authority);
        return false;
}

static void on_taken(void *owner)
{
        struct certificates *certificates = owner;

        if (certificates->settings->allocations &&
            client_pass_new(certificates->client, certificates->namespace_name,
                            certificates->settings->client_secret, &certificates->authority,
                            &certificates->pass) < 0)
                log_error("out of memory: nodes get no certificate");
        certificates->on_ready(certificates->owner);
}

static void on_ready(struct loop_task *task)
{
        struct certificates *certificates = container_of(task, struct certificates, ready);

        certificates->on_ready(certificates->owner);
}

static int begin(struct certificates *certificates, struct err *e)
{
        const struct scheduler_settings *settings = certificates->settings;
        const struct kube_secret_options secret = {
                .namespace_name = certificates->namespace_name,
                .name = settings->secret,
                .entries = "ca.crt or ca.key",
                .make = secret_make,
                .take = secret_take,
                .on_taken = on_taken,
                .on_trouble = on_trouble,
                .owner = certificates,
        };
        const bool needs_authority =
                !settings->certificate_path &&
                (!settings->is_plain || settings->allocations || certificates->metrics);

        if (needs_authority)
                return kube_secret_new(certificates->client, &secret, &certificates->secret) < 0
                               ? err_set(e, -ENOMEM, "out of memory")
                               : 0;
        const int r = keepers_new(certificates, e);

        if (r == 0)
                loop_defer(kube_client_loop(certificates->client), &certificates->ready);
        return r;
}

int certificates_new(struct kube_client *client, const struct scheduler_settings *settings,
                     const char *namespace_name, void (*on_ready_told)(void *owner), void *owner,
                     struct certificates **ret_certificates, struct err *e)
{
        struct certificates *certificates = calloc(1, sizeof *certificates);
        int r;

        if (!certificates)
                return err_set(e, -ENOMEM, "out of memory");
        certificates->client = client;
        certificates->settings = settings;
        certificates->on_ready = on_ready_told;
        certificates->owner = owner;
        certificates->ready.run = on_ready;
        str_copy(certificates->namespace_name, sizeof certificates->namespace_name, namespace_name);
        names_make(certificates);
        /* Metrics and probes wait for nothing: kubelet asks whether we live before the API server answers. */
        r = settings->has_metrics_tls
                    ? keeper_new(certificates, NULL, false, &certificates->metrics, e)
                    : 0;
        if (r == 0)
                r = begin(certificates, e);
        if (r < 0)
                certificates_free(certificates);
        else
                *ret_certificates = certificates;
        return r;
}

void certificates_free(struct certificates *certificates)
{
        if (!certificates)
                return;
        kube_secret_free(certificates->secret);
        client_pass_free(certificates->pass);
        tls_keeper_free(certificates->extender);
        tls_keeper_free(certificates->allocations);
        tls_keeper_free(certificates->metrics);
        tls_pair_done(&certificates->authority);
        free(certificates);
}

struct tls_context *certificates_of_metrics(struct certificates *certificates)
{
        return certificates->metrics ? tls_keeper_context(certificates->metrics) : NULL;
}

struct tls_context *certificates_of_extender(struct certificates *certificates)
{
        return certificates->extender ? tls_keeper_context(certificates->extender) : NULL;
}

struct tls_context *certificates_of_allocations(struct certificates *certificates)
{
        return certificates->allocations ? tls_keeper_context(certificates->allocations) : NULL;
}
