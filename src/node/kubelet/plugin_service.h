/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_service: what kubelet asks a device plugin. */
#pragma once

#include <stdbool.h>

#include "grpc_server.h"
#include "mig_claims.h"
#include "mig_starts.h"
#include "offer_list.h"
#include "pre_start.h"

enum { WATCHERS_MOST = 4 }; /* kubelet has one, and one more while it restarts */

/* Who has a say in what is handed out. */
struct plugin_counsel {
        struct pre_start *pre_start;   /* is asked before a container starts; NULL: nobody is */
        struct mig_starts *starts;     /* notes MIG devices then; NULL: not tracked */
        struct mig_claims *claims;     /* of all resources; NULL: not tracked */
        void (*on_taken)(void *owner); /* the claims are others now */
        void *owner;
};

struct plugin_service {
        const char *resource; /* for sentences */
        enum offer_kind kind;
        struct slots slots;
        struct plugin_counsel counsel;
        struct plugin_watcher {
                struct plugin_service *service;
                struct grpc_call *call; /* NULL: free */
        } watchers[WATCHERS_MOST];
};

extern const struct grpc_method plugin_service_methods[]; /* their owner is the service */

/* The resource's name stays the caller's. */
int plugin_service_init(struct plugin_service *service, const char *resource,
                        const struct offer *offer, const struct plugin_counsel *counsel);
void plugin_service_done(struct plugin_service *service); /* zeroed is fine */
/* Tells all who listen, if it is not what they know. */
void plugin_service_set_offer(struct plugin_service *service, const struct offer *offer);
/* Must kubelet ask before it starts a container? */
bool plugin_service_wants_pre_start(const struct plugin_service *service);
bool plugin_service_is_heard(const struct plugin_service *service); /* does anybody listen? */
