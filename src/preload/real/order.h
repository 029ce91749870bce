/* SPDX-License-Identifier: Apache-2.0 */
/* order: the driver, or the C library's look-ups, in front of us.
 *
 * Who sets LD_PRELOAD decides who comes first: LD_PRELOAD=libcuda.so.1 is ahead of /etc/ld.so.preload, and
 * a linked program would be bound to the driver. What stands there is made invisible to look-ups, so
 * that they come to us, and what was bound already is bound again. */
#pragma once

#include <stdbool.h>

#include "index.h"

/* Finds who is in front of us, once, and sets it right. In an ordinary program nobody is: that reads
 * two or three objects. `lookups` are the look-up functions that we define, `self` is one name
 * of ours that nobody else defines, with its address. False: somebody
 * stands there who cannot be passed over. */
bool order_check(const struct index_row *lookups, unsigned count, const struct index_row *self);

/* The driver's own function of this name, if it was made invisible; NULL: it was not. */
void *order_hidden(const char *name);
