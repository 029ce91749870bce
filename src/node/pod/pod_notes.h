/* SPDX-License-Identifier: Apache-2.0 */
/* pod_notes: what vgpu-node says of a pod to the API server: that it holds more than was decided, so that
 * the scheduler counts it; a violation; an eviction. Each is tried a few times and logged if it
 * fails: what happens on the node does not depend on it. */
#pragma once

#include "kube_client.h"
#include "kube_reason.h"
#include "share_book.h"

/* The pod's decision says at least what the share has now. `asked`: the pod's annotations by which that came to
 * be, NULL for none; if they ask for something else by then, that stays. */
void pod_notes_allocation(struct kube_client *client, const struct held_share *held,
                          const json_t *asked);

/* The pod's decision says at most what the share has now, or was decided at first. */
void pod_notes_lower(struct kube_client *client, const struct held_share *held,
                     const json_t *asked);

/* `kubectl describe pod` shows it. */
void pod_notes_event(struct kube_client *client, const struct held_share *held, const char *node,
                     enum kube_reason reason, const char *sentence);

/* Through the Eviction API: its disruption budget holds. */
void pod_notes_evict(struct kube_client *client, const struct held_share *held);

/* What the first two do to the annotations of a pod; pure. True: something changed. Annotations by which it was
 * resized say what the share has then. `decided`: a row per device, to lower it; NULL: to raise it. */
bool pod_notes_change(json_t *annotations, const char *container, const struct share_copy *copy,
                      const struct share_decided *decided, const json_t *asked);
