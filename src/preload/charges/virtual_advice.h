/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_advice: where managed memory of the container stays. */
#pragma once

#include <stddef.h>

#include "preload_cuda.h"

/* Devices reach the bytes where they are. One that cannot does not use them, unless it is the one that
 * they are for. */
CUresult virtual_advice_map(CUdeviceptr address, size_t bytes, int ordinal);
/* The bytes stay on the host from now on, and the devices reach them there. */
CUresult virtual_advice_host(CUdeviceptr address, size_t bytes, int ordinal);
