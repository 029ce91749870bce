/* SPDX-License-Identifier: Apache-2.0 */
/* From kubelet's list to a share. */
#include "mig_share.h"

#include <errno.h>
#include <string.h>

#include "str.h"

/* A device of its own swaps with nobody; the figure is for pages that nobody waits for. */
enum { SWAP_BYTES_PER_S = 0 };

static const struct mig_device *part_find(const struct gpu_set *gpus, const char *uuid)
{
        for (unsigned i = 0; i < gpus->part_count; i++)
                if (strcmp(gpus->parts[i].uuid, uuid) == 0)
                        return &gpus->parts[i];
        return NULL;
}

static int device_put(const struct gpu_set *gpus, const char *uuid, struct share_copy *copy,
                      struct gpu_device *gpu_devices, struct err *e)
{
        const struct mig_device *part = part_find(gpus, uuid);
        struct share_device *device = &copy->devices[copy->device_count];

        if (!part)
                return err_set(e, -ENODEV, "MIG device %.60s is not on this node", uuid);
        if (copy->device_count == SHARE_DEVICES || strlen(uuid) >= sizeof device->uuid)
                return err_set(e, -ENODEV, "MIG device %.60s does not fit into a share", uuid);
        str_copy(device->uuid, sizeof device->uuid, uuid);
        device->limit_bytes = device->physical_bytes = part->memory_bytes;
        device->limit_max_bytes = device->device_bytes = part->memory_bytes;
        device->cores_percent = device->cores_ceiling_percent = 0;
        gpu_devices[copy->device_count] =
                (struct gpu_device){ part->memory_bytes, SWAP_BYTES_PER_S };
        copy->device_count++;
        return 0;
}

static int container_put(const V1__ContainerResources *container, const struct gpu_set *gpus,
                         struct share_copy *copy, struct gpu_device *gpu_devices, struct err *e)
{
        int r = 0;

        for (size_t i = 0; i < container->n_devices && r == 0; i++) {
                const V1__ContainerDevices *devices = container->devices[i];

                for (size_t j = 0; j < devices->n_device_ids && r == 0; j++)
                        if (str_starts_with(devices->device_ids[j], "MIG-"))
                                r = device_put(gpus, devices->device_ids[j], copy, gpu_devices, e);
        }
        return r;
}

static const V1__ContainerResources *container_find(const V1__ListPodResourcesResponse *list,
                                                    const struct mig_share_owner *owner)
{
        for (size_t i = 0; i < list->n_pod_resources; i++) {
                const V1__PodResources *pod = list->pod_resources[i];

                if (strcmp(pod->namespace_, owner->pod_namespace) != 0 ||
                    strcmp(pod->name, owner->pod) != 0)
                        continue;
                for (size_t j = 0; j < pod->n_containers; j++)
                        if (strcmp(pod->containers[j]->name, owner->container) == 0)
                                return pod->containers[j];
        }
        return NULL;
}

/* Of an init container: what is put together. */
struct beginning {
        const struct gpu_set *gpus;
        struct share_copy *copy;
        struct gpu_device *gpu_devices;
        struct err *e;
        int result;
};

static void on_start(void *owner, const char *id)
{
        struct beginning *beginning = owner;

        if (beginning->result == 0 && str_starts_with(id, "MIG-"))
                beginning->result = device_put(beginning->gpus, id, beginning->copy,
                                               beginning->gpu_devices, beginning->e);
}

int mig_share_make(const V1__ListPodResourcesResponse *list, const struct mig_starts *starts,
                   uint64_t now_ns, const struct mig_share_owner *owner, const struct gpu_set *gpus,
                   struct share_copy *ret_copy,
                   struct gpu_device ret_gpu_devices[static SHARE_DEVICES], struct err *e)
{
        const V1__ContainerResources *container = container_find(list, owner);
        struct share_copy copy = { 0 };
        struct beginning beginning = {
                .gpus = gpus, .copy = &copy, .gpu_devices = ret_gpu_devices, .e = e
        };

        if (container)
                beginning.result = container_put(container, gpus, &copy, ret_gpu_devices, e);
        else
                mig_starts_each(starts, list, owner->pod_namespace, owner->pod, now_ns, on_start,
                                &beginning);
        if (beginning.result < 0 || copy.device_count == 0)
                return beginning.result;
        str_copy(copy.pod_uid, sizeof copy.pod_uid, owner->pod_uid);
        str_copy(copy.pod_namespace, sizeof copy.pod_namespace, owner->pod_namespace);
        str_copy(copy.pod_name, sizeof copy.pod_name, owner->pod);
        str_copy(copy.container, sizeof copy.container, owner->container);
        memcpy((void *)ret_copy, &copy, sizeof copy);
        return 1;
}
