/* SPDX-License-Identifier: Apache-2.0 */
/* share_query: open, count the living, close. */
#include "share_query.h"

#include <stdio.h>

#include "guard.h"
#include "region_view.h"
#include "run_folder.h"

bool share_query_open(const char *path, struct share_query *ret_query, struct err *e)
{
        char root[SHARE_TEXT];
        struct share share;

        ret_query->region = NULL;
        ret_query->opened = (struct region){ 0 };
        guard_open_begin();
        int r = share_open(path, false, &share, e);
        if (r == 0) {
                r = share_read(&share, &ret_query->copy, e);
                if (r < 0)
                        err_context(e, r, path);
                share_close(&share);
        }
        guard_open_end();
        if (r < 0)
                return false;
        /* It is called as its folder is, and has its files there, whatever it says. */
        run_folder_root(path, root);
        run_folder_name(path, ret_query->copy.name);
        snprintf(ret_query->copy.region, SHARE_TEXT, "%.127s/%.63s/region", root,
                 ret_query->copy.name);
        if (run_folder_region(path, &ret_query->opened, e) == 0)
                ret_query->region = &ret_query->opened;
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
        region_view_close(&query->opened);
}
