/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: pods as vgpu-node reads them, and kubelet's list of who holds which devices. What becomes a
 * share is one that can be right, and of devices that are there. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "message.h"
#include "mig_claims.h"
#include "mig_share.h"
#include "pod.h"
#include "pod_allocation.h"
#include "share_content.h"
#include "slot_owner.h"

const char *const fuzz_words[] = { "\"vgpu.io/memory\":\"",
                                   "\"vgpu.io/cores\":\"",
                                   "\"vgpu.io/memory-max\":\"",
                                   "\"name\":\"CUDA_MEM_OVERSOLD\",\"value\":\"true\"",
                                   "\"name\":\"VGPU_CORES_MAX\",\"value\":\"90\"",
                                   "\"initContainers\":[{\"name\":\"main\"",
                                   "\\\"uuid\\\":\\\"GPU-a\\\"",
                                   "\\\"memory\\\":4096",
                                   "18446744073709551615",
                                   "GPU-a",
                                   "MIG-b",
                                   NULL };

static struct gpu_set gpus = { .gpus = { { .uuid = "GPU-a", .memory_bytes = UINT64_C(4) << 30 } },
                               .count = 1,
                               .parts = { { .uuid = "MIG-b", .memory_bytes = 5000000 } },
                               .part_count = 1 };

static void check_share(const struct share_copy *copy)
{
        struct err e;

        if (share_check(copy, &e) < 0)
                abort();
        for (unsigned i = 0; i < copy->device_count; i++)
                if (gpu_set_find(&gpus, copy->devices[i].uuid) < 0)
                        abort();
}

static void try_pod(const json_t *pod)
{
        static const struct share_terms terms = { .memory_scaling = 2 };
        struct pod_walk walk = { .spec = json_object_get(pod, "spec"), .path = "" };
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct allocation allocation;
        struct share_copy copy;
        struct err e;

        if (pod_allocation_read(pod, &allocation, &e) < 0)
                return;
        while (pod_walk_next(&walk))
                if (share_content_make(pod, walk.container, &allocation, &gpus, &terms, &copy,
                                       gpu_devices, &e) > 0)
                        check_share(&copy);
        allocation_done(&allocation);
}

static void try_list(const V1__ListPodResourcesResponse *list)
{
        static const struct mig_share_owner owner = { "uid", "space", "pod", "main" };
        char *ids[] = { (char *)"vgpu-1" };
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct mig_starts starts;
        struct mig_claims claims;
        struct share_copy copy;
        struct err e;

        mig_starts_init(&starts);
        mig_starts_note(&starts, "nvidia.com/mig-1g.5gb", ids, 1, 0);
        if (mig_share_make(list, &starts, 0, &owner, &gpus, &copy, gpu_devices, &e) > 0)
                check_share(&copy);
        mig_starts_done(&starts);
        mig_claims_init(&claims);
        mig_claims_refresh(&claims, list, 1);
        mig_claims_refresh(&claims, list, 2 * MIG_CLAIM_GRACE_NS);
        mig_claims_done(&claims);
        slot_owner_find(list, "nvidia.com/vgpu", ids, 1);
        slot_owner_is_unlisted(list, "space", "pod", "main");
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        json_t *pod = json_loadb((const char *)bytes, count, 0, NULL);
        ProtobufCMessage *list =
                message_unpack(&v1__list_pod_resources_response__descriptor, bytes, count);

        if (pod)
                try_pod(pod);
        json_decref(pod);
        if (list)
                try_list((const V1__ListPodResourcesResponse *)list);
        message_free(list);
}
