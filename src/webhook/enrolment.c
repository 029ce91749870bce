/* SPDX-License-Identifier: Apache-2.0 */
/* Our authority: in a Secret, and in the webhook configurations. */
#include "enrolment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "json_read.h"
#include "kube_secret.h"
#include "list.h"
#include "log.h"
#include "scope.h"

enum { AGAIN_S = 5, CHECK_S = 300 };

static const char *const resources[] = { "mutatingwebhookconfigurations",
                                         "validatingwebhookconfigurations" };
enum { RESOURCES = sizeof resources / sizeof resources[0] };

struct enrolment {
        struct kube_client *client;
        const struct settings *settings;
        struct enrolment_events events;
        struct kube_secret *secret;
        struct kube_update *update;
        struct timer again;
        struct tls_pair authority; /* the certificate is kept: it goes into the configurations */
        unsigned next;             /* of the configurations */
        bool is_known, lacks_memory;
};

static void bundle_write(struct enrolment *enrolment);

static void step_later(struct enrolment *enrolment, unsigned seconds)
{
        loop_timer_set(kube_client_loop(enrolment->client), &enrolment->again, seconds * NS_PER_S);
}

static void on_again(struct timer *timer)
{
        bundle_write(container_of(timer, struct enrolment, again));
}

static json_t *secret_make(void *owner, struct err *e)
{
        unsigned char seal_key[SEAL_KEY_BYTES];
        json_t *data;

        (void)owner;
        if (getrandom(seal_key, sizeof seal_key, 0) != sizeof seal_key)
                return NULL;
        data = kube_secret_authority("vgpu-webhook", e);
        if (data && json_object_set_new(data, "seal.key",
                                        kube_secret_encode(seal_key, sizeof seal_key)) < 0) {
                json_decref(data);
                return NULL;
        }
        return data;
}

static bool secret_take(void *owner, const json_t *data)
{
        struct enrolment *enrolment = owner;
        size_t count = 0;
        autofree char *seal_key = kube_secret_entry(data, "seal.key", &count);

        tls_pair_done(&enrolment->authority);
        if (!seal_key || count != SEAL_KEY_BYTES ||
            !kube_secret_take_authority(data, &enrolment->authority))
                return false;
        enrolment->events.on_secret(enrolment->events.owner, &enrolment->authority,
                                    (const unsigned char *)seal_key);
        return true;
}

static void on_trouble(void *owner, const struct err *e)
{
        (void)owner;
        log_warn("%s", e->text);
}

static void on_taken(void *owner)
{
        step_later(owner, 0);
}

/* Writes only where something else stands. */
static bool bundle_set(void *owner, json_t *configuration)
{
        struct enrolment *enrolment = owner;
        const char *certificate = enrolment->authority.certificate;
        autojson json_t *bundle = kube_secret_encode(certificate, strlen(certificate));
        bool has_changed = false;
        json_t *webhook;
        size_t i;

        enrolment->lacks_memory = !bundle;
        json_array_foreach (json_object_get(configuration, "webhooks"), i, webhook) {
                json_t *client = json_object_get(webhook, "clientConfig");

                if (!client || !bundle || json_equal(json_object_get(client, "caBundle"), bundle))
                        continue;
                json_object_set(client, "caBundle", bundle);
                has_changed = true;
        }
        return has_changed;
}

static void on_bundle_set(void *owner, const struct kube_answer *answer)
{
        struct enrolment *enrolment = owner;
        const bool is_good = answer->status == 200 && !enrolment->lacks_memory;

        enrolment->update = NULL;
        if (!is_good)
                log_warn("%s/%s does not contain vgpu-webhook's CA: %s", resources[enrolment->next],
                         enrolment->settings->configuration,
                         enrolment->lacks_memory ? "out of memory" : answer->message);
        enrolment->next = is_good ? enrolment->next + 1 : 0;
        if (enrolment->next < RESOURCES) {
                step_later(enrolment, is_good ? 0 : AGAIN_S);
                return;
        }
        enrolment->next = 0;
        if (!enrolment->is_known)
                enrolment->events.on_known(enrolment->events.owner);
        enrolment->is_known = true;
        step_later(enrolment, CHECK_S); /* somebody may apply the manifests again, without it */
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

int enrolment_new(struct kube_client *client, const struct settings *settings,
                  const char *namespace_name, const struct enrolment_events *events,
                  struct enrolment **ret_enrolment)
{
        struct enrolment *enrolment = calloc(1, sizeof *enrolment);
        const struct kube_secret_options secret = {
                .namespace_name = namespace_name,
                .name = settings->secret,
                .entries = "ca.crt, ca.key or seal.key (32 bytes)",
                .make = secret_make,
                .take = secret_take,
                .on_taken = on_taken,
                .on_trouble = on_trouble,
                .owner = enrolment,
        };

        if (!enrolment)
                return -ENOMEM;
        *enrolment = (struct enrolment){
                .client = client,
                .settings = settings,
                .events = *events,
                .again = { .on_due = on_again },
        };
        if (kube_secret_new(client, &secret, &enrolment->secret) < 0) {
                free(enrolment);
                return -ENOMEM;
        }
        *ret_enrolment = enrolment;
        return 0;
}

void enrolment_free(struct enrolment *enrolment)
{
        if (!enrolment)
                return;
        kube_secret_free(enrolment->secret);
        if (enrolment->update)
                kube_update_cancel(enrolment->update);
        loop_timer_clear(kube_client_loop(enrolment->client), &enrolment->again);
        tls_pair_done(&enrolment->authority);
        free(enrolment);
}
