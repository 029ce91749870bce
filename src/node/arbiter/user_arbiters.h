/* SPDX-License-Identifier: Apache-2.0 */
/* user_arbiters: the users of this machine who share its GPUs by `vgpu run`. Their programs elect an arbiter
 * among themselves; while vgpu-node runs, it has that role for all of them, so that it schedules
 * them together with each other and the containers. What lies in a user's folders is the user's: it is reached through
 * descriptors, never through links, and only where it belongs to that user. */
#pragma once

#include "err.h"
#include "loop.h"
#include "node_arbiter.h"

struct user_arbiters;

/* Looks for users now and then. */
int user_arbiters_new(struct loop *loop, struct node_arbiter *arbiter,
                      struct user_arbiters **ret_users);
/* The users' own arbiters have the role again. NULL is fine. */
void user_arbiters_free(struct user_arbiters *users);
