/* SPDX-License-Identifier: Apache-2.0 */
/* What pieces of work take, as the container's processes have learned it: a process that is new need not
 * guess. A small table without a lock: a row that is torn or lost is an estimate that is wrong, and what is
 * measured corrects it. */
#pragma once

#include <stdint.h>

#include "region_layout.h"

/* 0: nobody has learned it. */
uint64_t region_cost_get(const struct region_file *file, uint64_t key);
void region_cost_put(struct region_file *file, uint64_t key, uint64_t ns);
