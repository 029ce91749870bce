/* SPDX-License-Identifier: Apache-2.0 */
/* shown_share: a share as gRPC clients and metrics are shown it: of a container, or of a user of this machine who
 * made it by `vgpu run`. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "run_folders.h"
#include "share_book.h"

struct shown_share {
        const char *name; /* what people call it */
        const char *user; /* whose it is; "": a container's */
        uid_t uid;
        const char *id; /* of the container; "": none, or not known */
        const char *pod_uid, *pod_namespace, *pod, *container;
        const struct share_copy *copy;
        const char *path; /* of the share file; the others lie beside it */
};

/* Of the book's; a container that was renamed has its new name. */
struct shown_share shown_share_of(struct held_share *held);
/* Calls it with the share of a user's, which is gone after the call, or for each that a process has. One that
 * cannot be read shows no devices. */
void shown_share_visit_user(const struct user_share *share,
                            void (*visit)(void *owner, const struct shown_share *share),
                            void *owner);
void shown_shares_of_users(void (*visit)(void *owner, const struct shown_share *share),
                           void *owner);

static inline bool shown_share_is_users(const struct shown_share *share)
{
        return share->user[0] != '\0';
}
