/* SPDX-License-Identifier: Apache-2.0 */
/* region_view: a container's region, mapped by somebody else on the host to be read as a whole.
 * Nothing is written, nothing is made; the container may write anything into it, and cut it short, at any
 * moment. */
#pragma once

#include "region.h"

/* -ENOENT: no process has made it; -EPROTO: no region, or another release's. */
int region_view_open(const char *path, struct region *ret_region, struct err *e);
void region_view_close(struct region *region);
