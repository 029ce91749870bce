/* SPDX-License-Identifier: Apache-2.0 */
/* Searches kubelet's list. */
#include "slot_owner.h"

#include <string.h>

static bool holds(const V1__ContainerDevices *devices, char *const *ids, size_t id_count)
{
        for (size_t i = 0; i < devices->n_device_ids; i++)
                for (size_t k = 0; k < id_count; k++)
                        if (strcmp(devices->device_ids[i], ids[k]) == 0)
                                return true;
        return false;
}

static bool container_holds(const V1__ContainerResources *container, const char *resource,
                            char *const *ids, size_t id_count)
{
        for (size_t i = 0; i < container->n_devices; i++)
                if (strcmp(container->devices[i]->resource_name, resource) == 0 &&
                    holds(container->devices[i], ids, id_count))
                        return true;
        return false;
}

const char *slot_owner_container(const V1__PodResources *pod, const char *resource,
                                 char *const *ids, size_t id_count)
{
        for (size_t k = 0; k < pod->n_containers; k++)
                if (container_holds(pod->containers[k], resource, ids, id_count))
                        return pod->containers[k]->name;
        return NULL;
}

const V1__PodResources *slot_owner_find(const V1__ListPodResourcesResponse *list,
                                        const char *resource, char *const *ids, size_t id_count)
{
        for (size_t i = 0; i < list->n_pod_resources; i++) {
                const V1__PodResources *pod = list->pod_resources[i];

                if (slot_owner_container(pod, resource, ids, id_count))
                        return pod;
        }
        return NULL;
}

bool slot_owner_is_unlisted(const V1__ListPodResourcesResponse *list, const char *pod_namespace,
                            const char *pod, const char *container)
{
        bool is_there = false;

        for (size_t i = 0; i < list->n_pod_resources; i++) {
                const V1__PodResources *one = list->pod_resources[i];

                if (strcmp(one->namespace_, pod_namespace) != 0 || strcmp(one->name, pod) != 0)
                        continue;
                is_there = true;
                for (size_t k = 0; k < one->n_containers; k++)
                        if (strcmp(one->containers[k]->name, container) == 0)
                                return false;
        }
        return is_there;
}
