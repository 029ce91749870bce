/* SPDX-License-Identifier: Apache-2.0 */
/* integrity: is the region still what the processes wrote? Asked at every reservation, checked twice a
 * second; once it is not, it never is again. */
#pragma once

#include <stdbool.h>

#include "region.h"

/* The path that the region was opened by. */
void integrity_start(const char *path);
/* False: deleted, replaced or written by hand; said once, in the log and in the region. Sets *ret_has_checked
 * when it has checked, and leaves it alone otherwise. */
bool integrity_holds(struct region *region, unsigned device_index, _Atomic bool *ret_has_checked);
