/* The shares of this node's containers, which vgpu-node keeps: for root, beside the user's own. Where no
 * agent is, or it is not for this user to ask, there are none. */
#pragma once

#include "json_out.h"
#include "share_compute.h"
#include "share_memory.h"
#include "table.h"
#include "vec.h"

/* Adds a row for each process, as `vgpu ps` has them; to the table where json is NULL. EXIT_OK, or
 * EXIT_FAILED after a sentence. */
int node_shares_ps(struct table *table, struct json_out *json);

/* Adds a struct usage for each share and GPU. */
int node_shares_usage(struct vec *usages);

/* Changes one and says what it has then. EXIT_OK: it is changed; -1: the node has no such share. */
int node_shares_set(const char *name, const struct share_memory *memory,
                    const struct share_compute *compute);
