/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates: who we are to kube-scheduler, to nodes and to those who read metrics: mounted ones, or of an authority of our own that
 * replicas share in a Secret. Both are exchanged without a restart. */
#pragma once

#include "kube_client.h"
#include "settings_scheduler.h"
#include "tls.h"

struct certificates;

/* on_ready comes once, never from inside this call: when the Secret is there, or at once. `settings` live
 * longer. */
int certificates_new(struct kube_client *client, const struct scheduler_settings *settings,
                     const char *namespace_name, void (*on_ready)(void *owner), void *owner,
                     struct certificates **ret_certificates, struct err *e);
void certificates_free(struct certificates *certificates); /* after what they serve; NULL is fine */

/* At once, and of the authority from on_ready on. NULL: it is plain. */
struct tls_context *certificates_of_metrics(struct certificates *certificates);
/* From on_ready on. NULL: it is plain. */
struct tls_context *certificates_of_extender(struct certificates *certificates);
/* Serves clients with a certificate only. NULL: nobody is served. */
struct tls_context *certificates_of_allocations(struct certificates *certificates);
