/* SPDX-License-Identifier: Apache-2.0 */
/* A container's share by its id, or the only one of its pod. */
#include "group_share.h"

#include <string.h>

struct finding {
        const struct control_group *group;
        struct held_share *by_id, *by_pod;
        unsigned of_pod;
};

static void find_one(void *owner, struct held_share *held)
{
        struct finding *finding = owner;

        if (strcmp(held->pod_uid, finding->group->pod_uid) != 0)
                return;
        if (strcmp(held->container_id, finding->group->container_id) == 0)
                finding->by_id = held;
        finding->of_pod++;
        if (!held->container_id[0])
                finding->by_pod = held;
}

struct held_share *group_share_find(struct share_book *book, const struct control_group *group)
{
        struct finding finding = { .group = group };

        share_book_each(book, find_one, &finding);
        if (finding.by_id)
                return finding.by_id;
        /* The id of the pod's only share is not known: whoever reached the socket has it mounted. */
        return group->pod_uid[0] && finding.of_pod == 1 ? finding.by_pod : NULL;
}
