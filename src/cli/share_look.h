/* share_look: a share and its account as they are now, for those who show them. */
#pragma once

#include <stdbool.h>

#include "region.h"
#include "share.h"

struct share_look {
        struct share share;
        const struct share_copy *copy;
        struct region account;
        const struct region *region; /* the account without the dead; NULL: it cannot be read */
};

/* Says why a share cannot be read, and answers false. The caller closes it. `e` has what is wrong with
 * the account, if anything. */
bool share_look_open(const char *path, struct share_look *ret_look, struct err *e);
void share_look_close(struct share_look *look);

/* Runs it for each share of this user; the last exit code that is not EXIT_OK. */
int share_look_each(int (*look)(const char *path, void *user), void *user);
