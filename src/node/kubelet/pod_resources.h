/* SPDX-License-Identifier: Apache-2.0 */
/* pod_resources: asks kubelet which container holds which devices. */
#pragma once

#include "loop.h"
#include "podresources.pb-c.h"

struct pod_resources;

/* path: kubelet's socket, which need not be there yet. */
int pod_resources_new(struct loop *loop, const char *path, struct pod_resources **ret_source);
/* There will be no answers. NULL is fine. */
void pod_resources_free(struct pod_resources *source);

/* The list as it is at the time of the call or later; those who ask at the same time share one. Told once,
 * never from inside this call; list NULL: kubelet did not answer, and text says why. 0 or -ENOMEM. */
int pod_resources_list(struct pod_resources *source,
                       void (*on_list)(void *owner, const V1__ListPodResourcesResponse *list,
                                       const char *text),
                       void *owner);
/* The owner gets no answer to what it asked. */
void pod_resources_forget(struct pod_resources *source, const void *owner);
