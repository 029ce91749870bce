/* SPDX-License-Identifier: Apache-2.0 */
/* shown_share: see shown_share.h. */
#include "shown_share.h"

#include "share_title.h"

struct shown_share shown_share_of(struct held_share *held)
{
        share_title_refresh(held);
        return (struct shown_share){
                .name = share_title_of(held),
                .user = "",
                .id = held->container_id,
                .pod_uid = held->pod_uid,
                .pod_namespace = held->pod_namespace,
                .pod = held->pod,
                .container = held->container,
                .copy = share_current(&held->share),
                .path = held->path,
        };
}

void shown_share_visit_user(const struct user_share *share,
                            void (*visit)(void *owner, const struct shown_share *share),
                            void *owner)
{
        struct share_copy copy = { 0 };
        char path[SHARE_TEXT];

        if (user_share_read(share, &copy, NULL) < 0)
                copy.device_count = 0;
        user_share_path(share, "share", path);
        const struct shown_share shown = {
                .name = share->name,
                .user = share->user_name,
                .uid = share->user,
                .id = "",
                .pod_uid = "",
                .pod_namespace = "",
                .pod = "",
                .container = copy.container,
                .copy = &copy,
                .path = path,
        };

        visit(owner, &shown);
}

struct visiting {
        void (*visit)(void *owner, const struct shown_share *share);
        void *owner;
};

static void on_user_share(void *owner, const struct user_share *share)
{
        const struct visiting *visiting = owner;

        if (user_share_is_used(share))
                shown_share_visit_user(share, visiting->visit, visiting->owner);
}

void shown_shares_of_users(void (*visit)(void *owner, const struct shown_share *share), void *owner)
{
        struct visiting visiting = { visit, owner };

        user_shares_each(on_user_share, &visiting);
}
