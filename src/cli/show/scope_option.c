/* SPDX-License-Identifier: Apache-2.0 */
/* What several commands ask for alike: whose shares, and in which colours. */
#include "scope_option.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "term.h"

struct snapshot_scope scope_option_default(void)
{
        return (struct snapshot_scope){ .is_all = geteuid() == 0 };
}

/* A number may be of a user without a name: of a container, or of another machine. */
int scope_option_user(const char *value, struct snapshot_scope *scope)
{
        static char name[SNAPSHOT_USER];

        if (*value && !value[strspn(value, "0123456789")])
                user_name_find((uid_t)strtoul(value, NULL, 10), name);
        else if (strlen(value) < sizeof name && getpwnam(value))
                strcpy(name, value);
        else
                return complain(EXIT_USAGE, "there is no user '%.64s'", value);
        scope->user = name;
        return 0;
}

int scope_option_colour(const char *value)
{
        return term_colour_choose(value) ? 0
                                         : complain(EXIT_USAGE,
                                                    "invalid value '%.40s' of --color (expected "
                                                    "auto, always or never)",
                                                    value);
}
