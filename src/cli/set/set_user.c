/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu set, as root, on a share of another user. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arbiter_lock.h"
#include "command.h"
#include "region_view.h"
#include "run_folders.h"
#include "set_limits.h"
#include "snapshot.h"

struct search {
        const char *name, *user;
        const struct set_request *request; /* NULL: it is only looked for */
        char users[SNAPSHOT_TEXT];         /* who have it */
        unsigned count;
        bool is_done;
        struct err e;
};

static void share_change(struct search *search, const struct user_share *share)
{
        static struct share_copy copy; /* 17 KiB */
        struct region region;
        struct arbiter_lock lock;
        char path[SHARE_TEXT];
        int r = user_share_read(share, &copy, &search->e);

        if (r == 0)
                r = set_limits_put(search->request, &copy, &search->e);
        if (r == 0)
                r = user_share_change(share, &copy, &search->e);
        if (r < 0)
                return;
        search->is_done = true;
        /* Others may have time slices to share now, or none any more. */
        if (arbiter_lock_open_of(share->root, share->user, &lock) == 0) {
                arbiter_lock_ring(&lock);
                arbiter_lock_close(&lock);
        }
        user_share_path(share, "region", path);
        const bool is_open = region_view_open(path, &region, NULL) == 0;

        set_limits_show(search->request, &copy, is_open ? &region : NULL);
        if (is_open)
                region_view_close(&region);
}

static void on_share(void *owner, const struct user_share *share)
{
        struct search *search = owner;
        const size_t length = strlen(search->users);

        if (strcmp(share->name, search->name) != 0 ||
            (search->user ? strcmp(share->user_name, search->user) != 0
                          : share->user == geteuid()) ||
            !user_share_is_used(share))
                return;
        search->count++;
        snprintf(search->users + length, sizeof search->users - length, "%s%.60s",
                 length ? ", " : "", share->user_name);
        if (search->request && !search->is_done)
                share_change(search, share);
}

static int ambiguous(const struct search *search, bool is_own)
{
        char own[SNAPSHOT_USER] = "";

        if (is_own)
                user_name_find(geteuid(), own);
        return complain(
                EXIT_FAILED,
                "several users have a share '%.63s': %s%s%s; use 'vgpu set USER/%.63s', or --user",
                search->name, own, is_own ? ", " : "", search->users, search->name);
}

int set_other_user(const char *name, const char *user, bool is_own,
                   const struct set_request *request)
{
        struct search search = { .name = name, .user = user };

        if (geteuid() != 0)
                return user ? complain(EXIT_FAILED,
                                       "only root can change the shares of other users")
                            : -1;
        user_shares_each(on_share, &search);
        if (search.count == 0)
                return -1;
        if (!user && search.count + is_own > 1)
                return ambiguous(&search, is_own);
        search.request = request;
        user_shares_each(on_share, &search);
        if (search.is_done)
                return EXIT_OK;
        return complain(EXIT_FAILED, "%s", search.e.text[0] ? search.e.text : "the share is gone");
}
