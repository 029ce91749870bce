/* SPDX-License-Identifier: Apache-2.0 */
/* nvlink: the links between GPUs, shared with topology and the field values. */
#pragma once

#include "target.h"

/* Links that lead from this GPU to that one, directly or through the switch. */
unsigned nvlink_count_between(const struct machine_gpu *gpu, unsigned other);
bool nvlink_is_active(const struct machine_gpu *gpu, unsigned link);
