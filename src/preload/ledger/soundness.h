/* soundness: is the account still what the processes wrote? Asked at every reservation, looked at twice a
 * second; once it is not, it never is again. */
#pragma once

#include <stdbool.h>

#include "region.h"

/* The path that the region was opened by. */
void soundness_start(const char *path);
/* False: deleted, replaced or written by hand; said once, in the log and in the region. Sets *ret_has_looked
 * when it has looked, and leaves it alone otherwise. */
bool soundness_holds(struct region *region, unsigned account, _Atomic bool *ret_has_looked);
