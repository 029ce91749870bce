/* SPDX-License-Identifier: Apache-2.0 */
/* Volcano: what its scheduler reads on Nodes and writes on pods, so that it can stand beside ours.
 *
 * Its decision is a text: for each container of the pod that asks by Volcano's names, in the pod's order,
 * "UUID,TYPE,MIB,CORES:" once per GPU; containers are separated by semicolons. */
#pragma once

#include <jansson.h>

#include "allocation.h"

#define VOLCANO_DECISION  "volcano.sh/vgpu-ids-new" /* on pods */
#define VOLCANO_NODE      "volcano.sh/vgpu-node"
#define VOLCANO_REGISTER  "volcano.sh/node-vgpu-register" /* on Nodes */
#define VOLCANO_HANDSHAKE "volcano.sh/node-vgpu-handshake"

/* What Volcano's scheduler decided for the pod. -ENOENT: nothing; -EPROTO: the text is damaged, or does
 * not fit what the pod's containers ask for. The caller calls allocation_done(). */
int volcano_decision_read(const json_t *pod, struct allocation *ret_allocation, struct err *e);

/* The same text of an allocation of ours, from which Volcano sees what is taken. NULL: out of memory. */
char *volcano_decision_format(const struct allocation *allocation);
