/* SPDX-License-Identifier: Apache-2.0 */
/* share_match: which share a text names: the name of a container or its id, whole or its
 * beginning, and for users' shares NAME or USER/NAME. */
#pragma once

#include "err.h"
#include "run_folders.h"
#include "share_book.h"

/* One of the two; a user's has descriptors of its own. */
struct share_match {
        struct held_share *held;
        struct user_share user; /* if held is NULL */
};

/* -ENOENT; -ENOTUNIQ: several, which the sentence names. The caller ends it. */
int share_match_find(struct share_book *book, const char *text, struct share_match *ret_match,
                     struct err *e);
void share_match_done(struct share_match *match);
