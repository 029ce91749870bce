/* SPDX-License-Identifier: Apache-2.0 */
/* The extender's verb preempt: kube-scheduler has chosen victims by what it knows; ours are added. */
#pragma once

#include "victims.h"

/* ExtenderPreemptionResult; NULL: out of memory. Nodes on which the pod would not fit though all those of
 * lower priority go are left out; and where a node is nominated for the pod, all others: nobody goes twice for
 * one pod. */
json_t *verb_preempt(const struct cluster *cluster, const json_t *args,
                     const struct gpu_request *gpu_request, uint64_t now_ns);
