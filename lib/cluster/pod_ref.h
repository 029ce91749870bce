/* SPDX-License-Identifier: Apache-2.0 */
/* pod_ref: a pod's identity, and its priority beside others. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define NOMINATED_NODE_ANNOTATION "vgpu.io/nominated-node"

struct pod_ref {
        char uid[64], namespace_name[64], name[256];
        /* The node that is nominated for it: in its status, which kube-scheduler clears whenever it fails to
         * ask us, and in our annotation. "": none. */
        char nominated_status[256], nominated_annotation[256];
        int32_t priority;
        bool may_preempt;
        bool is_leaving;   /* it is being deleted */
        int64_t started_s; /* or was made: among equals, the later one is evicted */
};

void pod_ref_read(const json_t *pod, struct pod_ref *ret_ref);
