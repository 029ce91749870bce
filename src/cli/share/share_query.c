/* SPDX-License-Identifier: Apache-2.0 */
/* share_query: open, count the living, close. */
#include "share_query.h"

#include "run_folder.h"

bool share_query_open(const char *path, struct share_query *ret_query, struct err *e)
{
        struct share_query query = { 0 };

        if (share_open(path, false, &query.share, e) < 0)
                return false;
        query.copy = share_current(&query.share);
        const bool is_open = run_folder_region(query.copy, &query.opened, e) == 0;
        *ret_query = query;
        ret_query->region = is_open ? &ret_query->opened : NULL;
        return true;
}

uint64_t share_query_held_bytes(const struct region *region, unsigned device)
{
        const uint64_t used = region_used_bytes(region, device),
                       dead = region_dead_bytes(region, device);

        return used > dead ? used - dead : 0;
}

void share_query_close(struct share_query *query)
{
        region_close(&query->opened);
        share_close(&query->share);
}
