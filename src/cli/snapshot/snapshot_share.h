/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of `vgpu run` in a snapshot: this user's, and for root those of all users. */
#pragma once

#include "region.h"
#include "snapshot.h"

/* What the share has of each GPU, and holds; region NULL: nothing yet, or it cannot be read. `is_own`: it may
 * be asked which of its processes are alive, another user's could have thousands. */
void share_gpus_read(const struct share_copy *copy, const struct region *region, bool is_own,
                     struct vec *gpus /* of struct share_gpu */);

void snapshot_shares_add(struct snapshot *snapshot, bool is_all);
