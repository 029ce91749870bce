/* SPDX-License-Identifier: Apache-2.0 */
/* Extender: the HTTP side, as kube-scheduler calls it. */
#pragma once

#include "address.h"
#include "http_server.h"
#include "lease.h"
#include "preempting.h"
#include "state.h"
#include "tls.h"

struct extender;

struct extender_options {
        const struct address *address;
        struct tls_context *tls;                  /* NULL: plain, for loopback */
        const struct http_authorizer *authorizer; /* of metrics and simulate; NULL: everybody may */
        struct preempting *preempting;
        struct lease *lease; /* NULL: there is no other replica */
        bool with_gpu;
        enum placement_policy node_policy; /* for pods without a policy */
};

/* State and client live longer. */
int extender_new(struct loop *loop, struct state *state, struct kube_client *client,
                 const struct extender_options *options, struct extender **ret_extender,
                 struct err *e);
/* What /metrics says. 0 or -ENOMEM. */
int extender_print_metrics(const struct extender *extender, struct str *to);
unsigned extender_port(const struct extender *extender);
void extender_drain(struct extender *extender, void (*on_drained)(void *owner), void *owner);
void extender_free(struct extender *extender); /* NULL is fine */
