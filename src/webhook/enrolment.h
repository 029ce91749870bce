/* SPDX-License-Identifier: Apache-2.0 */
/* Enrolment: who we are to the API server where nobody hands us a certificate: an authority and a seal's key in
 * a Secret that all replicas share, made by whoever comes first; and that authority in the webhook
 * configurations, so that the API server believes us. */
#pragma once

#include "kube_client.h"
#include "settings.h"
#include "tls_authority.h"

struct enrolment;

struct enrolment_events {
        /* The Secret is there: serve. Once. */
        void (*on_secret)(void *owner, const struct tls_pair *authority,
                          const unsigned char seal_key[SEAL_KEY_BYTES]);
        /* The configurations name our authority. Once. */
        void (*on_known)(void *owner);
        void *owner;
};

/* Goes on by itself, and tries again for as long as it takes. `settings` live longer. */
int enrolment_new(struct kube_client *client, const struct settings *settings,
                  const char *namespace_name, const struct enrolment_events *events,
                  struct enrolment **ret_enrolment);
void enrolment_free(struct enrolment *enrolment); /* NULL is fine */
