/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_throttle: a share that is cut to next to nothing because of what its container does, and given
 * back. What it had lies beside it meanwhile, so that the next vgpu-node can give it back, too. */
#pragma once

#include "share_book.h"

bool tenant_is_throttled(const struct share_copy *copy);
/* What a throttled share had and may get back; false: there is nothing. */
bool tenant_kept(const struct held_share *held, struct share_device ret_devices[SHARE_DEVICES]);

/* That changes: less of it is given back. */
int tenant_keep(const struct held_share *held, const struct share_device devices[SHARE_DEVICES],
                struct err *e);

/* One percent of each GPU's time, and no new memory. Done already: nothing. */
void tenant_throttle(struct share_book *book, struct held_share *held);
/* As it was; never throttled, or changed since: nothing. */
void tenant_release(struct share_book *book, struct held_share *held);
