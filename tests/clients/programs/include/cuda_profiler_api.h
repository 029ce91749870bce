/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_profiler_api.h: the two functions that samples call; the wheels of CUDA 13 leave it out. */
#pragma once

#include <driver_types.h>

extern "C" cudaError_t cudaProfilerStart(void);
extern "C" cudaError_t cudaProfilerStop(void);
