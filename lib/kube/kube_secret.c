/* SPDX-License-Identifier: Apache-2.0 */
/* A Secret that is made once and read by all. */
#include "kube_secret.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json_read.h"
#include "list.h"
#include "str.h"

enum { AUTHORITY_DAYS = 3650, AGAIN_S = 5 };

struct kube_secret {
        struct kube_client *client;
        struct kube_secret_options options;
        char namespace_name[64], name[256];
        struct kube_call *call;
        struct timer again;
};

json_t *kube_secret_encode(const void *bytes, size_t count)
{
        const gnutls_datum_t plain = { (void *)(uintptr_t)bytes, (unsigned)count };
        gnutls_datum_t coded = { 0 };

        if (gnutls_base64_encode2(&plain, &coded) < 0)
                return NULL;
        json_t *text = json_stringn((const char *)coded.data, coded.size);

        gnutls_free(coded.data);
        return text;
}

char *kube_secret_entry(const json_t *data, const char *key, size_t *ret_count)
{
        const char *text = json_read_text_or_null(data, key);
        const gnutls_datum_t coded = { (unsigned char *)(uintptr_t)text,
                                       text ? (unsigned)strlen(text) : 0 };
        gnutls_datum_t plain = { 0 };

        if (!text || gnutls_base64_decode2(&coded, &plain) < 0)
                return NULL;
        char *entry = malloc((size_t)plain.size + 1);

        if (entry) {
                memcpy(entry, plain.data, plain.size);
                entry[plain.size] = '\0';
        }
        *ret_count = plain.size;
        gnutls_free(plain.data);
        return entry;
}

json_t *kube_secret_authority(const char *name, struct err *e)
{
        struct tls_pair made = { 0 };

        if (tls_authority_make(name, AUTHORITY_DAYS, &made, e) < 0)
                return NULL;
        json_t *data = json_pack("{s:o*, s:o*}", "ca.crt",
                                 kube_secret_encode(made.certificate, strlen(made.certificate)),
                                 "ca.key", kube_secret_encode(made.key, strlen(made.key)));

        tls_pair_done(&made);
        return data;
}

bool kube_secret_take_authority(const json_t *data, struct tls_pair *ret_authority)
{
        struct tls_pair authority;
        size_t count;

        authority.certificate = kube_secret_entry(data, "ca.crt", &count);
        authority.key = kube_secret_entry(data, "ca.key", &count);
        if (!authority.certificate || !authority.key) {
                tls_pair_done(&authority);
                return false;
        }
        *ret_authority = authority;
        return true;
}

json_t *kube_secret_object(const char *name, const char *type, json_t *data)
{
        return json_pack("{s:s, s:s, s:{s:s}, s:s, s:o}", "apiVersion", "v1", "kind", "Secret",
                         "metadata", "name", name, "type", type, "data", data);
}

static void later(struct kube_secret *secret, unsigned seconds)
{
        loop_timer_set(kube_client_loop(secret->client), &secret->again, seconds * NS_PER_S);
}

static void trouble(struct kube_secret *secret, const char *what, const char *why)
{
        struct err e = { 0 };

        err_set(&e, -EIO, "the Secret %.80s %s%.120s", secret->name, what, why);
        secret->options.on_trouble(secret->options.owner, &e);
        later(secret, AGAIN_S);
}

static void on_made(void *owner, const struct kube_answer *answer)
{
        struct kube_secret *secret = owner;
        const bool is_there = answer->status == 201 || answer->status == 409;

        secret->call = NULL;
        /* Made by us or by another replica at the same time: read what is there. */
        if (is_there)
                later(secret, 0);
        else
                trouble(secret, "cannot be made: ", answer->message);
}

static void make(struct kube_secret *secret)
{
        struct kube_request request = { .method = "POST" };
        struct err e = { 0 };
        json_t *data = secret->options.make(secret->options.owner, &e);
        autojson json_t *object = data ? kube_secret_object(secret->name, "Opaque", data) : NULL;
        char path[160];

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/secrets", secret->namespace_name);
        request.path = path;
        request.body = object;
        if (!object ||
            kube_client_call(secret->client, &request, on_made, secret, &secret->call) < 0)
                trouble(secret, "cannot be made: ", e.text);
}

static void on_read(void *owner, const struct kube_answer *answer)
{
        struct kube_secret *secret = owner;

        secret->call = NULL;
        if (answer->status == 404) {
                make(secret);
                return;
        }
        if (answer->status == 200 &&
            secret->options.take(secret->options.owner, json_object_get(answer->body, "data"))) {
                secret->options.on_taken(secret->options.owner);
                return;
        }
        if (answer->status == 200)
                trouble(secret, "is to be deleted, and a new one is made; it lacks ",
                        secret->options.entries);
        else
                trouble(secret, "cannot be read: ", answer->message);
}

static void on_again(struct timer *timer)
{
        struct kube_secret *secret = container_of(timer, struct kube_secret, again);
        char path[400];
        const struct kube_request request = { .method = "GET", .path = path };

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/secrets/%s", secret->namespace_name,
                 secret->name);
        if (kube_client_call(secret->client, &request, on_read, secret, &secret->call) < 0)
                later(secret, AGAIN_S);
}

int kube_secret_new(struct kube_client *client, const struct kube_secret_options *options,
                    struct kube_secret **ret_secret)
{
        struct kube_secret *secret = calloc(1, sizeof *secret);

        if (!secret)
                return -ENOMEM;
        secret->client = client;
        secret->options = *options;
        secret->again.on_due = on_again;
        str_copy(secret->namespace_name, sizeof secret->namespace_name, options->namespace_name);
        str_copy(secret->name, sizeof secret->name, options->name);
        later(secret, 0);
        *ret_secret = secret;
        return 0;
}

void kube_secret_free(struct kube_secret *secret)
{
        if (!secret)
                return;
        if (secret->call)
                kube_call_cancel(secret->call);
        loop_timer_clear(kube_client_loop(secret->client), &secret->again);
        free(secret);
}
