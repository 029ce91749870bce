/* SPDX-License-Identifier: Apache-2.0 */
/* victims: whom a pod would preempt on a node, as the cluster stands. */
#pragma once

#include "cluster_nomination.h"
#include "preemption.h"

struct victims {
        struct preemption_cost cost;
        struct placement
                placement; /* of the pod, when they and all that are being deleted are gone */
        unsigned count;
        const struct cluster_pod *pods[PREEMPTION_VICTIMS]; /* until the cluster changes */
};

struct victims_question {
        const struct gpu_request *gpu_request;
        const char *uid;      /* the pod's own */
        const json_t *gone;   /* an array of {"UID": …}: they go in any case; NULL: nobody */
        const json_t *spared; /* likewise: they do not go, whatever they are worth */
        bool is_patient;      /* it preempts nobody: pods that are being deleted are waited for */
        uint64_t now_ns;
};

/* 0, -ENOSPC: not even without all of lower priority; -ENOMEM. Pods that are being deleted count as
 * gone; what is nominated for others of the same or a higher priority is not free. */
int victims_find(const struct cluster_node *node, const struct victims_question *question,
                 struct victims *ret_victims);
