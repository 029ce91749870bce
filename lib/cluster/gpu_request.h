/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_request: what a pod requests of a node's GPUs, read once from its object. */
#pragma once

#include <jansson.h>

#include "err.h"
#include "placement.h"

enum { GPU_REQUEST_NAME = 64, GPU_REQUEST_CHOICE = 256 };

struct gpu_request {
        struct placement_pod pod;
        int32_t priority;
        char containers[PLACEMENT_NEEDS][GPU_REQUEST_NAME]; /* by need */
        enum placement_policy node_policy;
        /* Words separated by commas, in a GPU's type or UUID; "": any. */
        char use_types[GPU_REQUEST_CHOICE], avoid_types[GPU_REQUEST_CHOICE];
        char use_uuids[GPU_REQUEST_CHOICE], avoid_uuids[GPU_REQUEST_CHOICE];
};

/* -EINVAL: no such request can be met. A pod that requests nothing of ours has no needs. */
int gpu_request_read(const json_t *pod, bool with_gpu, struct gpu_request *ret_request,
                     struct err *e);

/* True: the pod's annotations allow this device. */
bool gpu_request_allows(const struct gpu_request *gpu_request, const char *type, const char *uuid);

/* The pod's own policy of nodes, or `usual` if it chose none. */
enum placement_policy gpu_request_node_policy(const struct gpu_request *gpu_request,
                                              enum placement_policy usual);
