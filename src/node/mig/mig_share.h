/* SPDX-License-Identifier: Apache-2.0 */
/* mig_share: what the share of a container with MIG devices says. kubelet chose the devices, and lists them
 * (pod-resources); each is the container's alone, with all that it has. Pure. */
#pragma once

#include "err.h"
#include "gpu.h"
#include "gpu_page.h"
#include "mig_starts.h"
#include "podresources.pb-c.h"
#include "share.h"

struct mig_share_owner {
        const char *pod_uid, *pod_namespace, *pod, *container;
};

/* 1: the content, and a row per device; 0: the container holds no MIG device. -ENODEV: one that is not on
 * this node any more. An init container that ends is not in the list: it has what it is being started with. */
int mig_share_make(const V1__ListPodResourcesResponse *list, const struct mig_starts *starts,
                   uint64_t now_ns, const struct mig_share_owner *owner, const struct gpu_set *gpus,
                   struct share_copy *ret_copy,
                   struct gpu_device ret_gpu_devices[static SHARE_DEVICES], struct err *e);
