/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU request of one container, as it stands in a pod or template, made explicit. */
#pragma once

#include "err.h"
#include "patch.h"
#include "request.h"

struct container_rules {
        bool with_gpu;       /* nvidia.com/gpu is one of ours */
        bool is_units_fixed; /* another gpu.das.com/mem than computed is set right, not refused */
        bool leaves_units;   /* gpu.das.com/mem is not added: Kueue's transformations count it */
};

/* Adds what pod_request_read() concluded: counts, whole GPUs, memory for queues; both in limits and in
 * requests. `path` is the container's JSON pointer. Doing it twice changes nothing. */
int container_request_complete(struct patch *patch, json_t *container, const char *path,
                               const struct container_rules *rules, struct request *ret_request,
                               struct err *e);
