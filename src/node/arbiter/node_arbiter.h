/* SPDX-License-Identifier: Apache-2.0 */
/* node_arbiter: the arbiter of this node's containers (lib/arbiter), in a thread of its own: time slices
 * are a matter of milliseconds, and the loop may be busy for longer. It has nothing to lose: killed with the
 * process, the containers go on by their own limits until the next one is there. */
#pragma once

#include <stdint.h>

#include "share_book.h"

struct node_arbiter;

/* Takes part in all that the book has and gets. */
int node_arbiter_new(struct share_book *book, struct node_arbiter **ret_arbiter);
void node_arbiter_free(struct node_arbiter *arbiter); /* NULL is fine */

/* Shares that are not in the book: their paths are as arbiter.h has them. */
void node_arbiter_add(struct node_arbiter *arbiter, const char *share_path);
void node_arbiter_remove(struct node_arbiter *arbiter, const char *share_path);

/* Adds again what there was no memory for. To be called now and then. */
void node_arbiter_catch_up(struct node_arbiter *arbiter);

/* GPU time on the device that the driver counts for the container beyond what it says, so far. */
void node_arbiter_observe(struct node_arbiter *arbiter, const char *share_path, unsigned device,
                          uint64_t unreported_ns);
