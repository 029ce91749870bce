/* SPDX-License-Identifier: Apache-2.0 */
/* What `vgpu set` asks for: put into a share, and said of it. */
#pragma once

#include "region.h"
#include "share_compute.h"
#include "share_memory.h"
#include "snapshot.h"

struct set_request {
        struct share_memory memory;
        struct share_compute compute;
};

/* Changes the copy. -EINVAL: limits that make no sense together. */
int set_limits_put(const struct set_request *request, struct share_copy *copy, struct err *e);
/* Prints what was asked for as the share has it now, and holds; warns of limits that limit nothing. */
void set_limits_print(const struct set_request *request, const struct share_view *share);
/* The same, of a share that can be read here; region NULL: it holds nothing yet. */
void set_limits_show(const struct set_request *request, const struct share_copy *copy,
                     const struct region *region);

/* Changes the share of another user of this machine: "USER/NAME", or a name that one user has (`user` NULL).
 * `is_own`: this user has one of that name, too. An exit code after a sentence; -1: nobody else has it. */
int set_other_user(const char *name, const char *user, bool is_own,
                   const struct set_request *request);
