/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the GPUs' time of the last second was. */
#pragma once

#include "snapshot.h"

/* Sets what each share used and lost, by the drivers' figures of `processes` (struct gpu_process) where they tell.
 * Every process and every share is there still. */
void snapshot_usage_split(struct snapshot *snapshot, const struct vec *processes);
