/* SPDX-License-Identifier: Apache-2.0 */
/* kubelet's list with one pod of one container that holds one device, or none. */
#pragma once

#include "podresources.pb-c.h"

struct pod_list {
        V1__ListPodResourcesResponse list;
        V1__PodResources pod, *pods[1];
        V1__ContainerResources container, *containers[1];
        V1__ContainerDevices devices, *device_list[1];
        char *ids[1];
};

static inline const V1__ListPodResourcesResponse *pod_list(struct pod_list *made,
                                                           const char *resource, const char *id)
{
        v1__list_pod_resources_response__init(&made->list);
        v1__pod_resources__init(&made->pod);
        v1__container_resources__init(&made->container);
        v1__container_devices__init(&made->devices);
        if (!id)
                return &made->list;
        made->ids[0] = (char *)id;
        made->devices.resource_name = (char *)resource;
        made->devices.device_ids = made->ids;
        made->devices.n_device_ids = 1;
        made->device_list[0] = &made->devices;
        made->container.name = (char *)"main";
        made->container.devices = made->device_list;
        made->container.n_devices = 1;
        made->containers[0] = &made->container;
        made->pod.name = (char *)"pod";
        made->pod.namespace_ = (char *)"space";
        made->pod.containers = made->containers;
        made->pod.n_containers = 1;
        made->pods[0] = &made->pod;
        made->list.pod_resources = made->pods;
        made->list.n_pod_resources = 1;
        return &made->list;
}
