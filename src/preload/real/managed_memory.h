/* SPDX-License-Identifier: Apache-2.0 */
/* managed_memory: advice and prefetches, by whichever version the driver has. */
#pragma once

#include "real.h"

CUresult managed_advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device);
CUresult managed_prefetch(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream);
