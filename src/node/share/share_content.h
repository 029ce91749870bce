/* SPDX-License-Identifier: Apache-2.0 */
/* share_content: what a container's share says, of what its pod says and what the scheduler decided.
 * Pure: the same pod gives the same share. */
#pragma once

#include <jansson.h>

#include "allocation.h"
#include "err.h"
#include "gpu.h"
#include "gpu_page.h"
#include "share.h"

struct share_terms {           /* of the node's operator */
        double memory_scaling; /* of a share's memory, 1/scaling is physical */
        uint64_t host_bytes; /* oversold: on the host beyond the limit at most; 0: the GPU's size */
        bool is_context_exempt;
        bool speaks_own_pids; /* the driver, to each container: open kernel modules */
        bool is_as_decided;   /* what the pod's annotations ask for beside the decision waits */
};

/* 1: the content, and a row per device; 0: the decision gives this container nothing. -EINVAL: the pod
 * says something that means nothing, or more than it may; -ENODEV: of a GPU that is not here. The
 * sentence names the container. */
int share_content_make(const json_t *pod, const json_t *container,
                       const struct allocation *allocation, const struct gpu_set *gpus,
                       const struct share_terms *terms, struct share_copy *ret_copy,
                       struct gpu_device ret_gpu_devices[static SHARE_DEVICES], struct err *e);
