/* SPDX-License-Identifier: Apache-2.0 */
/* Explain: the station of a pod on its way to its GPUs, and the reason why it waits. Pure: facts in, JSON out. */
#pragma once

#include "cluster.h"

struct explain_facts {
        const json_t *pod;
        const json_t *nodes;           /* names of all nodes, an array */
        const struct cluster *cluster; /* what nodes have and pods hold */
        bool with_gpu;                 /* also share nvidia.com/gpu */
};

enum explain_verdict { EXPLAIN_PLACED, EXPLAIN_WAITS, EXPLAIN_NOTHING };

/* {"namespace","name","uid","state","sentence","requests":[…],"node","gpus":[…],"nodes":[…],…}; see
 * vgpu-explain(1). The caller's; NULL: out of memory. */
json_t *explain_make(const struct explain_facts *facts, enum explain_verdict *ret_verdict);

/* The same for a person, on stdout. */
void explain_print(const json_t *explanation);
