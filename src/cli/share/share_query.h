/* SPDX-License-Identifier: Apache-2.0 */
/* share_query: a share of this user and its region as they are now, for those who show them. Both are only
 * read, and the region is the one beside the share file. */
#pragma once

#include <stdbool.h>

#include "region.h"
#include "share.h"

struct share_query {
        struct share_copy copy; /* ours, and checked */
        struct region opened;
        const struct region *region; /* `opened`; NULL: it cannot be read */
};

/* False: it cannot be read, says `e`. The caller closes it. `e` has what is wrong with the region, if
 * anything. */
bool share_query_open(const char *path, struct share_query *ret_query, struct err *e);
void share_query_close(struct share_query *query);

/* What the living hold, on the device or of virtual memory. What the dead held is given back by the next process
 * that needs it, which knows from the driver when that may be. */
uint64_t share_query_held_bytes(const struct region *region, unsigned device);
