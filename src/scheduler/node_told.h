/* What a Node's object tells of its cards. */
#pragma once

#include <jansson.h>

#include "cluster.h"

/* The object as it is now; NULL: it is gone. What is wrong with it is logged. */
void node_told(struct cluster *cluster, const char *name, const json_t *object);

/* Members of nodes and pods that nobody here looks at. */
extern const char *const told_unread[];
