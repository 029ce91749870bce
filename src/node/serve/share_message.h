/* SPDX-License-Identifier: Apache-2.0 */
/* share_message: a share as gRPC clients get it (api/proto/vgpu.proto). */
#pragma once

#include "node_usage.h"
#include "vgpu.pb-c.h"

/* With what its processes hold, as far as the region can be read, and what it used; usage NULL: as the region says.
 * Freed as one piece with share_message_free(); NULL: out of memory. */
Vgpu__V1__Share *share_message_new(const struct shown_share *share, struct node_usage *usage);
void share_message_free(Vgpu__V1__Share *message);
