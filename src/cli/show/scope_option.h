/* SPDX-License-Identifier: Apache-2.0 */
/* What several commands ask for alike: whose shares, and in which colours. */
#pragma once

#include "snapshot.h"

#define SCOPE_OPTION_ALL                                                                         \
        {                                                                                        \
                "all", NULL, "show shares and programs of all users; the default for root", NULL \
        }
#define SCOPE_OPTION_USER                                                          \
        {                                                                          \
                "user", "NAME", "show only shares and programs of this user", NULL \
        }

/* Everybody's for root, one's own for others. */
struct snapshot_scope scope_option_default(void);
/* The value of --user, a name or a number; 0, or the exit code after a sentence. */
int scope_option_user(const char *value, struct snapshot_scope *scope);
/* The value of --color; 0, or the exit code after a sentence. */
int scope_option_colour(const char *value);
