/* SPDX-License-Identifier: Apache-2.0 */
/* What several commands ask for alike: a share by name. */
#pragma once

#include "share_layout.h"
#include "share_memory.h"

/* The sentence for a share that does not exist, with the nearest one; returns EXIT_FAILED. */
int complain_unknown_share(const char *name);

/* Warns of a --memory that is more than a GPU has: it limits nothing. Of a share, for the first such GPU; or of
 * one GPU: whether it is so. */
void complain_excesses(const struct share_memory *memory, const struct share_copy *copy);
bool complain_excess(const struct share_device *device, unsigned gpu);
