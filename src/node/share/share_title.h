/* SPDX-License-Identifier: Apache-2.0 */
/* share_title: how the engine of a container without Kubernetes calls it, as vgpu-runtime noted it and as the
 * engine's own file has it now. */
#pragma once

#include "share_book.h"

/* Reads what was noted, for a share that was just taken in. */
void share_title_read(struct held_share *held);
/* Reads the name again if the container was renamed. */
void share_title_refresh(struct held_share *held);

/* What people call the share: the engine's name, else its own. */
const char *share_title_of(const struct held_share *held);
