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
        /* Reaping needs a slot in the region; ours is no process of the share. */
        if (is_open && region_join(&query.opened) == 0) {
                region_reap(&query.opened);
                region_leave(&query.opened);
        }
        *ret_query = query;
        ret_query->region = is_open ? &ret_query->opened : NULL;
        return true;
}

void share_query_close(struct share_query *query)
{
        region_close(&query->opened);
        share_close(&query->share);
}
