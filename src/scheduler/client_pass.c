/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the Secret now and then, and writes it where it is not good any more. */
#include "client_pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json_read.h"
#include "kube_secret.h"
#include "list.h"
#include "log.h"
#include "scope.h"
#include "str.h"

enum { DAYS = 90, CHECK_S = 3600, RETRY_S = 5 };

struct client_pass {
        struct kube_client *client;
        char namespace_name[64], name[256];
        char service[2][160]; /* names of vgpu-node's Service */
        struct tls_pair authority;
        struct kube_update *update;
        struct kube_call *call;
        struct timer check;
        bool lacks_memory; /* for the certificate that is due */
};

static void later(struct client_pass *pass, bool is_good)
{
        loop_timer_set(kube_client_loop(pass->client), &pass->check,
                       (is_good ? CHECK_S : RETRY_S) * NS_PER_S);
}

/* Not two thirds of its time old. */
static bool pair_is_young(const json_t *data, const char *certificate_name, const char *key_name)
{
        size_t count;
        autofree char *certificate = kube_secret_entry(data, certificate_name, &count);
        autofree char *key = kube_secret_entry(data, key_name, &count);
        int64_t begin_s, end_s;

        return certificate && key &&
               tls_certificate_times(certificate, &begin_s, &end_s, NULL) == 0 &&
               tls_certificate_is_fresh(begin_s, end_s);
}

static bool is_good(const struct client_pass *pass, const json_t *data)
{
        size_t count;
        autofree char *authority = kube_secret_entry(data, "ca.crt", &count);

        return authority && strcmp(authority, pass->authority.certificate) == 0 &&
               pair_is_young(data, "tls.crt", "tls.key") &&
               pair_is_young(data, "metrics.crt", "metrics.key");
}

static json_t *encode(const char *text)
{
        return kube_secret_encode(text, strlen(text));
}

/* What nodes ask with, and what they serve their metrics with. */
static json_t *data_make(const struct client_pass *pass)
{
        const char *const names[] = { pass->service[0], pass->service[1], NULL };
        struct tls_pair client = { 0 }, server = { 0 };
        json_t *data = NULL;
        struct err e = { 0 };
        int r = tls_authority_sign_client(&pass->authority, "vgpu-node", DAYS, &client, &e);

        if (r == 0)
                r = tls_authority_sign(&pass->authority, names, DAYS, &server, &e);
        if (r == 0)
                data = json_pack("{s:o*, s:o*, s:o*, s:o*, s:o*}", "tls.crt",
                                 encode(client.certificate), "tls.key", encode(client.key),
                                 "ca.crt", encode(pass->authority.certificate), "metrics.crt",
                                 encode(server.certificate), "metrics.key", encode(server.key));
        else
                log_error("no certificate for nodes: %s", e.text);
        tls_pair_done(&client);
        tls_pair_done(&server);
        return data;
}

static bool change(void *owner, json_t *secret)
{
        struct client_pass *pass = owner;
        const bool is_due = !is_good(pass, json_object_get(secret, "data"));
        json_t *data = is_due ? data_make(pass) : NULL;

        pass->lacks_memory = is_due && !data;
        return data && json_object_set_new(secret, "data", data) == 0;
}

static void on_made(void *owner, const struct kube_answer *answer)
{
        struct client_pass *pass = owner;

        pass->call = NULL;
        if (answer->status != 201 && answer->status != 409)
                log_warn("cannot create the Secret %s: %s", pass->name, answer->message);
        later(pass, answer->status == 201);
}

static void make(struct client_pass *pass)
{
        json_t *data = data_make(pass);
        autojson json_t *object =
                data ? kube_secret_object(pass->name, "kubernetes.io/tls", data) : NULL;
        char path[160];
        const struct kube_request request = { .method = "POST", .path = path, .body = object };

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/secrets", pass->namespace_name);
        if (!object || kube_client_call(pass->client, &request, on_made, pass, &pass->call) < 0)
                later(pass, false);
}

static void on_updated(void *owner, const struct kube_answer *answer)
{
        struct client_pass *pass = owner;

        pass->update = NULL;
        if (answer->status == 404) {
                make(pass);
                return;
        }
        if (answer->status != 200)
                log_warn("cannot update the Secret %s: %s", pass->name, answer->message);
        later(pass, answer->status == 200 && !pass->lacks_memory);
}

static void on_check(struct timer *timer)
{
        struct client_pass *pass = container_of(timer, struct client_pass, check);
        char path[400];

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/secrets/%s", pass->namespace_name,
                 pass->name);
        if (kube_client_update(pass->client, path, change, on_updated, pass, &pass->update) < 0)
                later(pass, false);
}

int client_pass_new(struct kube_client *client, const char *namespace_name, const char *name,
                    const struct tls_pair *authority, struct client_pass **ret_pass)
{
        struct client_pass *pass = calloc(1, sizeof *pass);

        if (!pass)
                return -ENOMEM;
        pass->client = client;
        pass->check.on_due = on_check;
        str_copy(pass->namespace_name, sizeof pass->namespace_name, namespace_name);
        str_copy(pass->name, sizeof pass->name, name);
        snprintf(pass->service[0], sizeof pass->service[0], "vgpu-node.%s.svc",
                 pass->namespace_name);
        snprintf(pass->service[1], sizeof pass->service[1], "vgpu-node.%s.svc.cluster.local",
                 pass->namespace_name);
        pass->authority.certificate = strdup(authority->certificate);
        pass->authority.key = strdup(authority->key);
        if (!pass->authority.certificate || !pass->authority.key) {
                client_pass_free(pass);
                return -ENOMEM;
        }
        loop_timer_set(kube_client_loop(client), &pass->check, 0);
        *ret_pass = pass;
        return 0;
}

void client_pass_free(struct client_pass *pass)
{
        if (!pass)
                return;
        if (pass->update)
                kube_update_cancel(pass->update);
        if (pass->call)
                kube_call_cancel(pass->call);
        loop_timer_clear(kube_client_loop(pass->client), &pass->check);
        tls_pair_done(&pass->authority);
        free(pass);
}
