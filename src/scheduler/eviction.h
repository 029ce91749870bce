/* SPDX-License-Identifier: Apache-2.0 */
/* Eviction: victims are asked to go, one after another, by the API server's leave: PodDisruptionBudgets
 * are honoured. All are tried without effect first, so that nobody goes in vain. */
#pragma once

#include "kube_client.h"
#include "victims.h"

struct eviction;

/* Tells once, never from inside this call: NULL when all are on their way, else the pod that may not be
 * evicted now, of which there is an Event unless it `is_quiet`; `is_together`: it might go, but not with the others. The eviction stays the caller's. -ENOMEM:
 * nothing was begun. */
int eviction_new(struct kube_client *client, struct cluster *cluster,
                 const struct pod_ref *preemptor, const struct victims *victims, bool is_quiet,
                 void (*on_done)(void *owner, const char *blocked_uid, bool is_together),
                 void *owner, struct eviction **ret_eviction);
unsigned eviction_count(const struct eviction *eviction); /* who is on the way out so far */
void eviction_free(struct eviction *eviction); /* NULL is fine; also from inside on_done */
