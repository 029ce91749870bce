/* share_message: a share of the node as gRPC clients are told of it (api/proto/vgpu.proto). */
#pragma once

#include "share_book.h"
#include "vgpu.pb-c.h"

/* With what its processes hold, as far as the account can be read. Freed as one piece with
 * share_message_free(); NULL: out of memory. */
Vgpu__V1__Share *share_message_new(const struct held_share *held);
void share_message_free(Vgpu__V1__Share *message);
