/* SPDX-License-Identifier: Apache-2.0 */
/* node_read: reads a Node's object into the cluster. */
#pragma once

#include <jansson.h>

#include "cluster.h"

/* The object as it is now; NULL: it is gone. -EPROTO: its GPUs or links are not understood, and those that
 * are not are not there; -ENOMEM. */
int node_read(struct cluster *cluster, const char *name, const json_t *object, struct err *e);

/* Members of nodes and pods that nobody here reads; NULL ends the list. */
extern const char *const node_read_ignored[];
