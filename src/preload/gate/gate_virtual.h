/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of virtual memory: managed memory in place of device memory that does not fit. */
#pragma once

#include <stddef.h>

#include "cuda_prototypes.h"
#include "virtual_range.h"

/* Sets aside what a range of this size takes: of the host, and of the GPU what the host's part does
 * not hold. Fills in device_index, bytes and charges. Between this and the settlement the thread counts as
 * inside (presence.h). OUT_OF_MEMORY: it does not fit, or there is no virtual memory. */
CUresult gate_virtual_admit(int device_index, size_t bytes, struct virtual_range *ret_range);

/* After the driver's answer: notes the range, or gives its charges back. OUT_OF_MEMORY: it could not
 * be noted; the caller gives the memory back to the driver. */
CUresult gate_virtual_settle(const struct virtual_range *range, CUresult result);
