/* SPDX-License-Identifier: Apache-2.0 */
/* kube_internal: what the parts of the API-server client share. */
#pragma once

#include "fields.h"
#include "http_client.h"
#include "kube_client.h"

struct kube_send {
        const char *method, *path;
        const char *content_type;
        const char *passed_token;
        const void *body;
        size_t body_count;
};

/* One try, with the path's prefix and the token. */
int kube_client_send(struct kube_client *client, const struct kube_send *send,
                     const struct http_call_events *events, void *owner,
                     struct http_call **ret_call);

/* A 401 came: the token may be old. */
void kube_client_reread(struct kube_client *client);
/* What a head asks to wait; 0: nothing. */
uint64_t kube_retry_after_ms(const struct fields *head);
