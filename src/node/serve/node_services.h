/* SPDX-License-Identifier: Apache-2.0 */
/* node_services: what the node does for its shares while containers run: the arbiter of their time slices,
 * the registry of their processes, and vgpu.v1.Shares for clients that list and change them. */
#pragma once

#include "grpc_server.h"
#include "registrar.h"
#include "share_book.h"
#include "share_fit.h"
#include "usage_audit.h"

struct node_services;

struct node_services_options {
        const char *run_folder; /* in it node.sock, and registry/ for the containers */
        double memory_scaling, cores_scaling;
        enum env_ceiling env_ceiling;
        void (*on_stranger)(void *stranger_owner); /* as registrar.h has it */
        void *stranger_owner;
        enum violation_policy violation_policy;
        struct node_usage *usage; /* the caller's: what clients are told of GPU time */
        /* As usage_audit.h has them. */
        void (*on_violation)(void *owner, const struct held_share *held, enum violation violation,
                             const char *sentence);
        void (*on_evict)(void *owner, const struct held_share *held, const char *sentence);
        /* A share was changed otherwise than by its pod: by `vgpu set`, or by an environment. */
        void (*on_change)(void *owner, struct held_share *held);
        void *owner;
};

int node_services_new(struct loop *loop, struct share_book *book,
                      const struct node_services_options *options,
                      struct node_services **ret_services, struct err *e);
void node_services_free(struct node_services *services); /* NULL is fine */

/* From now on containers are held against what the driver says. */
int node_services_watch(struct node_services *services, struct gpu_watch *gpus);
/* NULL until then. */
const struct usage_audit *node_services_audit(const struct node_services *services);

/* The GPUs are others now; without any nothing grows. */
void node_services_set_gpus(struct node_services *services, const struct gpu_set *set);

/* What is left of the GPUs, for those who let shares grow. */
struct share_fit *node_services_fit(struct node_services *services);
/* Where the node is asked: for other services to be added. */
struct grpc_server *node_services_server(struct node_services *services);
