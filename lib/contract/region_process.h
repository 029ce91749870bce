/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the region share: charges (region.c), processes (region_process.c). */
#pragma once

#include "region.h"

/* Brings a dead slot's charges to rest: what it had applied counts, what it had not does not, a
 * reaping it had applied is finished. The caller alone reaps it. May be repeated. */
void region_settle(struct region *region, uint32_t slot);
/* Takes back what the dead slot holds, all but what others have of it (region_driver). The caller alone reaps
 * it. May be repeated. True: nothing is left. */
bool region_take_back(struct region *region, uint32_t victim);
