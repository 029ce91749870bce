/* SPDX-License-Identifier: Apache-2.0 */
/* shares_service: vgpu.v1.Shares, the node's shares for `vgpu ps`, `vgpu top` and `vgpu set`. Root
 * alone is answered. */
#pragma once

#include "grpc_server.h"
#include "node_usage.h"
#include "share_fit.h"

enum { SHARES_WATCHERS_MOST = 16 };

struct shares_service {
        struct loop *loop;
        const struct share_fit *fit;
        struct node_usage *usage; /* NULL: regions are all that tells */
        /* A share was changed by hand, and is to stay so: others may have to know. NULL is fine. */
        void (*on_set)(void *owner, struct held_share *held);
        void *owner;

        struct share_listener listener;
        struct timer again; /* figures change all the time: once a second while somebody watches */
        struct shares_watcher {
                struct shares_service *service;
                struct grpc_call *call; /* NULL: free */
        } watchers[SHARES_WATCHERS_MOST];
};

extern const struct grpc_method shares_service_methods[]; /* their owner is the service */

/* loop, fit, on_set and owner are set. */
void shares_service_init(struct shares_service *service);
void shares_service_done(struct shares_service *service);
