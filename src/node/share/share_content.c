/* SPDX-License-Identifier: Apache-2.0 */
/* From pod and decision to share. The decision gives memory and compute of GPUs; annotations of the pod
 * resize them within their ceilings; the container's own environment says how they are used, and never
 * how much there is. */
#include "share_content.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "container_env.h"
#include "json_read.h"
#include "pod.h"
#include "pod_request.h"
#include "quantity.h"
#include "setting.h"
#include "str.h"

#define MIB (UINT64_C(1) << 20)
/* Prefetching comes near the link's speed; this is what a PCIe 4.0 x16 slot does at least. */
#define SWAP_BYTES_PER_S UINT64_C(12000000000)

/* What the pod's annotations say of every share of the pod; 0: nothing. */
struct resize {
        uint64_t memory_bytes, memory_max_bytes;
        unsigned cores, cores_max;
};

static int size_read(const json_t *annotations, const char *name, uint64_t *ret_bytes,
                     struct err *e)
{
        const char *text = json_read_text_or_null(annotations, name);

        *ret_bytes = 0;
        if (!text || quantity_parse_bytes(text, ret_bytes, e) == 0)
                return 0;
        return err_context(e, -EINVAL, name);
}

static int percent_read(const json_t *annotations, const char *name, unsigned *ret_percent,
                        struct err *e)
{
        const char *text = json_read_text_or_null(annotations, name);

        *ret_percent = 0;
        if (!text || quantity_parse_percent(text, "cores", ret_percent, e) == 0)
                return 0;
        return err_context(e, -EINVAL, name);
}

/* How compute is held, for all containers whose environment does not say; NULL: nothing is said. */
static int policy_read(const json_t *pod, const char **ret_policy, struct err *e)
{
        const char *annotation;
        int ignored;

        *ret_policy = pod_choice(pod, CHOICE_CORES_POLICY, &annotation);
        if (*ret_policy && choice_parse(CHOICE_CORES_POLICY, *ret_policy, &ignored, e) < 0)
                return err_context(e, -EINVAL, annotation);
        return 0;
}

static int resize_read(const json_t *pod, struct resize *ret_resize, struct err *e)
{
        const json_t *annotations =
                json_object_get(json_object_get(pod, "metadata"), "annotations");
        int r = size_read(annotations, "vgpu.io/memory", &ret_resize->memory_bytes, e);

        if (r == 0)
                r = size_read(annotations, "vgpu.io/memory-max", &ret_resize->memory_max_bytes, e);
        if (r == 0)
                r = percent_read(annotations, "vgpu.io/cores", &ret_resize->cores, e);
        if (r == 0)
                r = percent_read(annotations, "vgpu.io/cores-max", &ret_resize->cores_max, e);
        return r;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static int memory_put(const struct allocation_part *part, const struct resize *resize,
                      const struct share_terms *terms, struct share_device *device, struct err *e)
{
        const uint64_t decided = part->memory_mib * MIB;
        const uint64_t most = larger(decided, resize->memory_max_bytes);
        const uint64_t limit = resize->memory_bytes ? resize->memory_bytes : decided;

        if (limit > most)
                return err_set(e, -EINVAL,
                               "vgpu.io/memory of %" PRIu64 " MiB is over the ceiling of %" PRIu64
                               " MiB (vgpu.io/memory-max, or the allocation)",
                               limit / MIB, most / MIB);
        device->limit_bytes = limit;
        device->limit_max_bytes = most;
        device->physical_bytes = terms->memory_scaling > 1
                                         ? (uint64_t)((double)limit / terms->memory_scaling)
                                         : limit;
        device->flags |= terms->is_context_exempt ? SHARE_CONTEXT_EXEMPT : 0;
        return 0;
}

/* No limit of compute is one of 100, for ceilings. */
static int compute_put(const struct allocation_part *part, const struct resize *resize,
                       struct share_device *device, struct err *e)
{
        const unsigned decided = part->cores ? part->cores : 100;
        const unsigned most = decided > resize->cores_max ? decided : resize->cores_max;

        if (resize->cores > most)
                return err_set(e, -EINVAL,
                               "vgpu.io/cores of %u is over the ceiling of %u (vgpu.io/cores-max, "
                               "or the allocation)",
                               resize->cores, most);
        device->cores_percent = resize->cores ? resize->cores : part->cores;
        device->cores_ceiling_percent = most;
        return 0;
}

/* How it is used is for the container to say: what it borrows is idle, what it has on the host is
 * bounded by the node. Without a limit there is nothing to borrow. */
static int wishes_put(const struct share_device *wish, const struct share_terms *terms,
                      struct share_device *device, struct err *e)
{
        device->flags |= wish->flags & (SHARE_OVERSOLD | SHARE_LATENCY);
        if (wish->flags & SHARE_OVERSOLD) {
                const uint64_t most = terms->host_bytes ? terms->host_bytes : device->device_bytes;

                device->host_bytes =
                        wish->host_bytes && wish->host_bytes < most ? wish->host_bytes : most;
        }
        if (!device->cores_percent || device->cores_percent == 100)
                return 0;
        if (wish->cores_max_percent && wish->cores_max_percent < device->cores_percent)
                return err_set(e, -EINVAL, "VGPU_CORES_MAX of %u is below the allocation of %u",
                               wish->cores_max_percent, device->cores_percent);
        device->cores_max_percent = wish->cores_max_percent;
        /* Not to be limited at all is to have what nobody else wants. */
        device->policy =
                wish->policy == SHARE_POLICY_NONE ? (uint32_t)SHARE_POLICY_BALANCE : wish->policy;
        return 0;
}

static const struct gpu *gpu_find(const struct gpu_set *gpus, const char *uuid)
{
        for (unsigned i = 0; i < gpus->count; i++)
                if (strcmp(gpus->gpus[i].uuid, uuid) == 0)
                        return &gpus->gpus[i];
        return NULL;
}

/* Everything that one device's row is made of. */
struct terms {
        const struct gpu_set *gpus;
        const struct share_terms *node;
        struct resize resize;
        struct share_copy wishes;
        bool is_urgent;
};

static int device_put(const struct allocation_part *part, const struct terms *terms,
                      struct share_copy *copy, struct gpu_device *gpu_devices, struct err *e)
{
        const struct gpu *gpu = gpu_find(terms->gpus, part->uuid);
        const unsigned index = copy->device_count;
        struct share_device *device = &copy->devices[index];

        if (!gpu)
                return err_set(e, -ENODEV, "GPU %.60s is not on this node", part->uuid);
        if (index == SHARE_DEVICES || strlen(part->uuid) >= sizeof device->uuid)
                return err_set(e, -EINVAL, "GPU %.60s does not fit into a share", part->uuid);
        str_copy(device->uuid, sizeof device->uuid, part->uuid);
        device->device_bytes = gpu->memory_bytes;
        device->flags = terms->is_urgent ? SHARE_LATENCY : 0;
        int r = memory_put(part, &terms->resize, terms->node, device, e);
        if (r == 0)
                r = compute_put(part, &terms->resize, device, e);
        if (r == 0)
                r = wishes_put(&terms->wishes.devices[index], terms->node, device, e);
        if (r < 0)
                return r;
        gpu_devices[index] = (struct gpu_device){ gpu->memory_bytes, SWAP_BYTES_PER_S };
        copy->device_count++;
        return 0;
}

static void identity_put(const json_t *pod, const char *container, struct share_copy *copy)
{
        const json_t *metadata = json_object_get(pod, "metadata");
        const struct {
                const char *key;
                char *to;
                size_t bytes;
        } rows[] = {
                { "uid", copy->pod_uid, sizeof copy->pod_uid },
                { "namespace", copy->pod_namespace, sizeof copy->pod_namespace },
                { "name", copy->pod_name, sizeof copy->pod_name },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const char *text = json_read_text_or_null(metadata, rows[i].key);

                str_copy(rows[i].to, rows[i].bytes, text ? text : "");
        }
        str_copy(copy->container, sizeof copy->container, container);
}

/* Not part of the digest: shares that an earlier release made are the same without it. */
static void phase_put(const json_t *pod, const json_t *container, struct share_copy *copy)
{
        struct pod_walk walk = { .spec = json_object_get(pod, "spec"), .path = "" };

        for (unsigned container_index = 0; pod_walk_next(&walk); container_index++) {
                if (walk.container != container)
                        continue;
                copy->container_index = container_index;
                copy->phase = walk.phase;
        }
}

/* FNV-1a. */
static uint64_t digest(const struct share_copy *copy)
{
        const unsigned char *bytes = (const unsigned char *)copy;
        uint64_t hash = UINT64_C(14695981039346656037);

        for (size_t i = 0; i < sizeof *copy; i++)
                hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
        return hash ? hash : 1;
}

static int terms_read(const json_t *pod, const json_t *container, struct terms *terms,
                      struct err *e)
{
        struct request request;
        const char *policy;
        int r = resize_read(pod, &terms->resize, e);

        if (r == 0)
                r = policy_read(pod, &policy, e);
        if (r == 0)
                r = container_env_read(container, policy, &terms->wishes, e);
        if (terms->node->is_as_decided)
                terms->resize.memory_bytes = terms->resize.cores = 0; /* ceilings stay */
        /* A request that means nothing is for the scheduler to refuse: it has decided already. */
        if (r == 0 && pod_request_read(container, true, &request, NULL) == 0)
                terms->is_urgent = request_has(&request, RESOURCE_PRIORITY) &&
                                   request.values[RESOURCE_PRIORITY] == 0;
        return r;
}

int share_content_make(const json_t *pod, const json_t *container,
                       const struct allocation *allocation, const struct gpu_set *gpus,
                       const struct share_terms *node, struct share_copy *ret_copy,
                       struct gpu_device ret_gpu_devices[static SHARE_DEVICES], struct err *e)
{
        struct terms terms = { .gpus = gpus, .node = node };
        const char *name = pod_request_name(container);
        struct share_copy copy = { 0 };
        int r = 0;

        for (size_t i = 0; i < allocation->parts.count && r == 0; i++) {
                const struct allocation_part *part = vec_at(&allocation->parts, i);

                if (strcmp(part->container, name) != 0)
                        continue;
                if (copy.device_count == 0)
                        r = terms_read(pod, container, &terms, e);
                if (r == 0)
                        r = device_put(part, &terms, &copy, ret_gpu_devices, e);
        }
        if (r == 0 && copy.device_count == 0)
                return 0;
        if (r < 0) {
                char context[96];

                snprintf(context, sizeof context, "container '%.60s'", name);
                return err_context(e, r, context);
        }
        identity_put(pod, name, &copy);
        copy.compatibility = node->speaks_own_pids ? COMPATIBILITY_OPEN_KERNEL + 1 : 0;
        copy.origin = digest(&copy);
        phase_put(pod, container, &copy);
        memcpy((void *)ret_copy, &copy, sizeof copy);
        return 1;
}
