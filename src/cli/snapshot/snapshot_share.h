/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of `vgpu run` in a snapshot: this user's, and for root those of all users. */
#pragma once

#include "snapshot.h"

void snapshot_shares_add(struct snapshot *snapshot, bool is_all);
