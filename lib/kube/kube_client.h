/* SPDX-License-Identifier: Apache-2.0 */
/* kube_client: requests to the API server, tried again where that is safe, over one HTTP/2
 * connection. The token is read again as it changes. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "kube_config.h"
#include "loop.h"

struct kube_client;
struct kube_call;

int kube_client_new(struct loop *loop, const struct kube_config *config,
                    struct kube_client **ret_client, struct err *e);
void kube_client_free(struct kube_client *client); /* after its calls and watches */
struct loop *kube_client_loop(struct kube_client *client);

/* Where the API server passes a request on to a pod (pods/proxy), it keeps the field "authorization" for itself: the
 * pod finds a bearer token here. */
#define KUBE_PASSED_AUTHORIZATION "x-vgpu-authorization"

struct kube_request {
        const char *method, *path; /* "GET", "/api/v1/nodes/n1" */
        const json_t *body;        /* NULL: none */
        const char *content_type;  /* of the body; NULL: application/json */
        const char *passed_token;  /* for whom the request is passed on to; NULL: none */
        unsigned timeout_ms;       /* of one try (15 s) */
        unsigned tries;            /* at most (5) */
};

/* Texts and body are gone when the callback returns. */
struct kube_answer {
        int status;         /* of HTTP; 0: none came, or the last try got no whole one */
        const json_t *body; /* NULL: none, or no JSON. Read as a watch reads it (kube_object.h) */
        bool is_tamed; /* the body is not quite what the API server has: not to be written back */
        const char *text;    /* the same as it came; "" for none */
        const char *reason;  /* of a Status: "NotFound", "Conflict" …; else "" */
        const char *message; /* one sentence where it failed, else "" */
};

/* Tries again after 429 and after errors that say nothing was done; after 5xx and broken connections
 * only what can be done twice (not POST). on_done comes once, never from inside this call. */
int kube_client_call(struct kube_client *client, const struct kube_request *request,
                     void (*on_done)(void *owner, const struct kube_answer *answer), void *owner,
                     struct kube_call **ret_call);
void kube_call_cancel(struct kube_call *call); /* nothing is told any more */

/* Reads an object, lets `change` change it, writes it back; after 409 all over again. change returns
 * false to leave it as it is (the answer is then the object as read). One that cannot be read as it is stays
 * as it is: to write it back would change what we do not know; status 0. Cancelled like any call. */
struct kube_update;
int kube_client_update(struct kube_client *client, const char *path,
                       bool (*change)(void *owner, json_t *object),
                       void (*on_done)(void *owner, const struct kube_answer *answer), void *owner,
                       struct kube_update **ret_update);
void kube_update_cancel(struct kube_update *update);
