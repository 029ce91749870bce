/* SPDX-License-Identifier: Apache-2.0 */
/* lease: one of several replicas leads, by a Lease of the API server (coordination.k8s.io/v1). */
#pragma once

#include "kube_client.h"
#include "lease_rules.h"

struct lease;

struct lease_options {
        const char *namespace_name, *name;
        const char *identity; /* the same after a restart, another for each replica */
        struct lease_times times;
        void (*on_change)(void *owner, bool leads);
        void *owner;
};

/* Campaigns from now on. */
int lease_new(struct kube_client *client, const struct lease_options *options,
              struct lease **ret_lease);
void lease_free(struct lease *lease); /* NULL is fine; what is held runs out by itself */

/* By the clock: false as soon as another might lead. */
bool lease_leads(const struct lease *lease);

/* Somebody asks for work: if another leads, it is told that we would like to. */
void lease_note_asked(struct lease *lease);

/* Leads no more, and lets others know, so that they need not wait; then tells, also if that failed. */
void lease_release(struct lease *lease, void (*on_released)(void *owner), void *owner);
