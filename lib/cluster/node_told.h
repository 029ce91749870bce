/* What a Node's object tells of its cards. */
#pragma once

#include <jansson.h>

#include "cluster.h"

/* The object as it is now; NULL: it is gone. -EPROTO: its cards or links are not understood, and those that
 * are not are not there; -ENOMEM. */
int node_told(struct cluster *cluster, const char *name, const json_t *object, struct err *e);

/* Members of nodes and pods that nobody here looks at. */
extern const char *const told_unread[];
