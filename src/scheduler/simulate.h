/* SPDX-License-Identifier: Apache-2.0 */
/* Simulate: would these pods find GPUs, and where? On nodes that are there, as they are, and on nodes that are
 * not yet. Nothing is remembered. */
#pragma once

#include <jansson.h>

#include "cluster.h"

struct simulate_options {
        bool with_gpu;
        enum placement_policy node_policy; /* for pods without a policy */
};

/* {"Pods":[Pod…],"NodeNames":[NAME…],"Nodes":[Node…]}: pods are placed one after another, on the named nodes
 * as the cluster knows them and on the given ones as their annotations say. Answers {"Placements":[…],
 * "Error":""}; NULL: out of memory. */
json_t *simulate(const struct cluster *cluster, const struct simulate_options *options,
                 const json_t *args);
