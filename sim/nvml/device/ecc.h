/* SPDX-License-Identifier: Apache-2.0 */
/* ecc: error counters, shared with the field values. */
#pragma once

#include "target.h"

/* All errors of this kind since the last clear. */
uint64_t ecc_total(const struct machine_gpu *gpu, nvmlMemoryErrorType_t type);
