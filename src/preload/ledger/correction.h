/* SPDX-License-Identifier: Apache-2.0 */
/* correction: the difference between what this process's notes say and what the driver says it holds.
 * Above 0: the driver took it unasked, and it is charged under no key. Below 0: the driver no longer
 * holds it, and it has been given back before its release. */
#pragma once

#include <stdbool.h>

#include "region.h"

void correction_add(struct region *region, unsigned device_index, uint64_t bytes);
void correction_take(struct region *region, unsigned device_index, uint64_t bytes);

/* Is something given back that is still to be released? */
bool correction_is_owed(unsigned device_index);
/* Of `bytes` that are released now: how many were given back before. The charge is never less than what
 * the driver holds: the first to be released are taken for those. */
uint64_t correction_pay(struct region *region, unsigned device_index, enum region_kind kind,
                        uint64_t bytes);
