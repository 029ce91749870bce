/* SPDX-License-Identifier: Apache-2.0 */
/* share_message: a share as gRPC clients get it (api/proto/vgpu.proto). */
#pragma once

#include "shown_share.h"
#include "vgpu.pb-c.h"

/* With what its processes hold, as far as the region can be read. Freed as one piece with
 * share_message_free(); NULL: out of memory. */
Vgpu__V1__Share *share_message_new(const struct shown_share *share);
void share_message_free(Vgpu__V1__Share *message);
