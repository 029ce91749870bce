/* SPDX-License-Identifier: Apache-2.0 */
/* kube_event: an Event on a pod, for whoever runs kubectl describe. */
#pragma once

#include "kube_client.h"
#include "kube_reason.h"

struct kube_event {
        const char *namespace_name, *pod, *uid; /* whom it is about */
        const char *component;                  /* who says so */
        enum kube_reason reason;
        const char *message;
};

/* Posted and forgotten: an Event that does not arrive is no reason to stop. */
void kube_event_post(struct kube_client *client, const struct kube_event *event);
