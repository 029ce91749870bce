/* tenant_throttle: a share that is cut to next to nothing because of what its container does, and given
 * back. What it had lies beside it meanwhile, so that the next vgpu-node can give it back, too. */
#pragma once

#include "share_book.h"

/* One percent of each GPU's time, and no new memory. Done already: nothing. */
void tenant_throttle(struct share_book *book, struct held_share *held);
/* As it was; never throttled, or changed since: nothing. */
void tenant_release(struct share_book *book, struct held_share *held);
