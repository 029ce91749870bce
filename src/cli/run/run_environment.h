/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that `vgpu run` finds in its own environment. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "limits_environment.h"

struct run_environment {
        struct share_copy limits;
        struct variable_names names;
        bool is_set; /* some variable limits something */
};

/* Reads it. -EINVAL: a value means nothing, or a name is a limit's
 * misspelt; the program is not started. */
int run_environment_read(struct run_environment *ret_environment, struct err *e);
/* Tells of variables that nobody reads: where libvgpu.so is not there to do so. */
void run_environment_warn(const struct run_environment *environment);
/* Is every GPU here that a limit names? On the machine at this path; NULL: the real ones. */
int run_environment_check(const struct run_environment *environment, const char *machine_path,
                          struct err *e);
