/* SPDX-License-Identifier: Apache-2.0 */
/* slot_owner: whose slots these are, by kubelet's own list (pod-resources). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "podresources.pb-c.h"

/* The pod of which a container holds one of the slots; NULL: nobody's. kubelet hands slots of an init
 * container on to the containers that follow, and lists only these. */
const V1__PodResources *slot_owner_find(const V1__ListPodResourcesResponse *list,
                                        const char *resource, char *const *ids, size_t id_count);

/* The container of the pod that holds one of them; NULL: none. */
const char *slot_owner_container(const V1__PodResources *pod, const char *resource,
                                 char *const *ids, size_t id_count);

/* Is the pod in the list, and this container of it not? Then it is an init container that ends. */
bool slot_owner_is_unlisted(const V1__ListPodResourcesResponse *list, const char *pod_namespace,
                            const char *pod, const char *container);
