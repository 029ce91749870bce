/* Our authority: in a Secret, and in the webhook configurations. */
#include "enrolment.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "list.h"
#include "log.h"
#include "scope.h"

enum { AUTHORITY_DAYS = 3650, AGAIN_S = 5, LOOK_S = 300 };

static const char *const resources[] = { "mutatingwebhookconfigurations",
                                         "validatingwebhookconfigurations" };
enum { RESOURCES = sizeof resources / sizeof resources[0] };

struct enrolment {
        struct kube_client *client;
        const struct settings *settings;
        struct enrolment_events events;
        char namespace_name[64];
        struct kube_call *call;
        struct kube_update *update;
        struct timer again;
        struct tls_pair authority; /* the certificate is kept: it goes into the configurations */
        unsigned next;             /* of the configurations */
        bool has_secret, is_known;
};

static void enrolment_step(struct enrolment *enrolment);

static void step_later(struct enrolment *enrolment, unsigned seconds)
{
        loop_timer_set(kube_client_loop(enrolment->client), &enrolment->again, seconds * NS_PER_S);
}

static void on_again(struct timer *timer)
{
        enrolment_step(container_of(timer, struct enrolment, again));
}

static json_t *base64_of(const void *bytes, size_t count)
{
        const gnutls_datum_t plain = { (void *)(uintptr_t)bytes, (unsigned)count };
        gnutls_datum_t coded = { 0 };

        if (gnutls_base64_encode2(&plain, &coded) < 0)
                return NULL;
        json_t *text = json_stringn((const char *)coded.data, coded.size);

        gnutls_free(coded.data);
        return text;
}

/* The entry of a Secret as it was put in, with a NUL behind it; NULL: none. */
static char *entry_get(const json_t *data, const char *key, size_t *ret_count)
{
        const char *text = json_string_value(json_object_get(data, key));
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

/* false: the Secret lacks something. */
static bool secret_take(struct enrolment *enrolment, const json_t *secret)
{
        const json_t *data = json_object_get(secret, "data");
        size_t count, key_count = 0;
        autofree char *seal_key = entry_get(data, "seal.key", &key_count);

        tls_pair_done(&enrolment->authority);
        enrolment->authority.certificate = entry_get(data, "ca.crt", &count);
        enrolment->authority.key = entry_get(data, "ca.key", &count);
        if (!enrolment->authority.certificate || !enrolment->authority.key || !seal_key ||
            key_count != SEAL_KEY_BYTES)
                return false;
        enrolment->has_secret = true;
        enrolment->events.on_secret(enrolment->events.owner, &enrolment->authority,
                                    (const unsigned char *)seal_key);
        return true;
}

static void on_secret_made(void *owner, const struct kube_answer *answer)
{
        struct enrolment *enrolment = owner;

        enrolment->call = NULL;
        if (answer->status != 201 && answer->status != 409)
                log_warn("the Secret %s cannot be made: %s", enrolment->settings->secret,
                         answer->message);
        /* Made by us or by another replica at the same time: read what is there. */
        step_later(enrolment, answer->status == 201 || answer->status == 409 ? 0 : AGAIN_S);
}

static json_t *secret_make(const struct enrolment *enrolment, struct err *e)
{
        unsigned char seal_key[SEAL_KEY_BYTES];
        struct tls_pair made = { 0 };
        json_t *secret;

        if (getrandom(seal_key, sizeof seal_key, 0) != sizeof seal_key ||
            tls_authority_make("vgpu-webhook", AUTHORITY_DAYS, &made, e) < 0)
                return NULL;
        secret = json_pack("{s:s, s:s, s:{s:s}, s:s, s:{s:o*, s:o*, s:o*}}", "apiVersion", "v1",
                           "kind", "Secret", "metadata", "name", enrolment->settings->secret,
                           "type", "Opaque", "data", "ca.crt",
                           base64_of(made.certificate, strlen(made.certificate)), "ca.key",
                           base64_of(made.key, strlen(made.key)), "seal.key",
                           base64_of(seal_key, sizeof seal_key));
        tls_pair_done(&made);
        return secret;
}

static void secret_post(struct enrolment *enrolment)
{
        struct kube_request request = { .method = "POST" };
        struct err e = { 0 };
        json_t *secret = secret_make(enrolment, &e);
        char path[160];

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/secrets", enrolment->namespace_name);
        request.path = path;
        request.body = secret;
        if (!secret || kube_client_call(enrolment->client, &request, on_secret_made, enrolment,
                                        &enrolment->call) < 0) {
                log_warn("no authority could be made: %s", e.text);
                step_later(enrolment, AGAIN_S);
        }
        json_decref(secret);
}

static void on_secret_read(void *owner, const struct kube_answer *answer)
{
        struct enrolment *enrolment = owner;

        enrolment->call = NULL;
        if (answer->status == 404) {
                secret_post(enrolment);
                return;
        }
        if (answer->status != 200)
                log_warn("the Secret %s cannot be read: %s", enrolment->settings->secret,
                         answer->message);
        else if (!secret_take(enrolment, answer->body))
                log_error("the Secret %s lacks ca.crt, ca.key or seal.key (32 bytes); delete it "
                          "and a new one is made",
                          enrolment->settings->secret);
        step_later(enrolment, enrolment->has_secret ? 0 : AGAIN_S);
}

static void secret_read(struct enrolment *enrolment)
{
        char path[224];
        const struct kube_request request = { .method = "GET", .path = path };

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/secrets/%s", enrolment->namespace_name,
                 enrolment->settings->secret);
        if (kube_client_call(enrolment->client, &request, on_secret_read, enrolment,
                             &enrolment->call) < 0)
                step_later(enrolment, AGAIN_S);
}

/* Writes only where something else stands. */
static bool bundle_set(void *owner, json_t *configuration)
{
        struct enrolment *enrolment = owner;
        const char *certificate = enrolment->authority.certificate;
        json_t *bundle = base64_of(certificate, strlen(certificate));
        bool has_changed = false;
        json_t *webhook;
        size_t i;

        json_array_foreach(json_object_get(configuration, "webhooks"), i, webhook)
        {
                json_t *client = json_object_get(webhook, "clientConfig");

                if (!client || json_equal(json_object_get(client, "caBundle"), bundle))
                        continue;
                json_object_set(client, "caBundle", bundle);
                has_changed = true;
        }
        json_decref(bundle);
        return has_changed;
}

static void on_bundle_set(void *owner, const struct kube_answer *answer)
{
        struct enrolment *enrolment = owner;
        const bool is_good = answer->status == 200;

        enrolment->update = NULL;
        if (!is_good)
                log_warn("%s/%s does not name our authority: %s", resources[enrolment->next],
                         enrolment->settings->configuration, answer->message);
        enrolment->next = is_good ? enrolment->next + 1 : 0;
        if (enrolment->next < RESOURCES) {
                step_later(enrolment, is_good ? 0 : AGAIN_S);
                return;
        }
        enrolment->next = 0;
        if (!enrolment->is_known)
                enrolment->events.on_known(enrolment->events.owner);
        enrolment->is_known = true;
        step_later(enrolment, LOOK_S); /* somebody may apply the manifests again, without it */
}

static void bundle_write(struct enrolment *enrolment)
{
        char path[224];

        snprintf(path, sizeof path, "/apis/admissionregistration.k8s.io/v1/%s/%s",
                 resources[enrolment->next], enrolment->settings->configuration);
        if (kube_client_update(enrolment->client, path, bundle_set, on_bundle_set, enrolment,
                               &enrolment->update) < 0)
                step_later(enrolment, AGAIN_S);
}

static void enrolment_step(struct enrolment *enrolment)
{
        if (enrolment->has_secret)
                bundle_write(enrolment);
        else
                secret_read(enrolment);
}

int enrolment_new(struct kube_client *client, const struct settings *settings,
                  const char *namespace_name, const struct enrolment_events *events,
                  struct enrolment **ret_enrolment)
{
        struct enrolment *enrolment = calloc(1, sizeof *enrolment);

        if (!enrolment)
                return -ENOMEM;
        *enrolment = (struct enrolment){
                .client = client,
                .settings = settings,
                .events = *events,
                .again = { .on_due = on_again },
        };
        snprintf(enrolment->namespace_name, sizeof enrolment->namespace_name, "%s", namespace_name);
        step_later(enrolment, 0);
        *ret_enrolment = enrolment;
        return 0;
}

void enrolment_free(struct enrolment *enrolment)
{
        if (!enrolment)
                return;
        if (enrolment->call)
                kube_call_cancel(enrolment->call);
        if (enrolment->update)
                kube_update_cancel(enrolment->update);
        loop_timer_clear(kube_client_loop(enrolment->client), &enrolment->again);
        tls_pair_done(&enrolment->authority);
        free(enrolment);
}
