/* SPDX-License-Identifier: Apache-2.0 */
/* region_view: a container's region, mapped read-only by another process of the host. It neither writes nor
 * creates a region. The container may write anything into it, or truncate it, at any moment. */
#pragma once

#include "region.h"

/* -ENOENT: no process has made it; -EPROTO: no region, or another release's. */
int region_view_open(const char *path, struct region *ret_region, struct err *e);
void region_view_close(struct region *region);
