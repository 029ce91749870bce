/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is loaded late, and linked with the driver. */
#include "cuda_prototypes.h"

__attribute__((visibility("default"))) CUresult plugin_alloc(CUdeviceptr *address, size_t bytes);

CUresult plugin_alloc(CUdeviceptr *address, size_t bytes)
{
        return cuMemAlloc_v2(address, bytes);
}
