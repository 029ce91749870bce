/* SPDX-License-Identifier: Apache-2.0 */
/* managed_memory: see managed_memory.h. */
#include "managed_memory.h"

static CUmemLocation location_of(CUdevice device)
{
        if (device == CU_DEVICE_CPU)
                return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST };
        return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
}

CUresult managed_advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
        if (real_cuda.cuMemAdvise)
                return real_cuda.cuMemAdvise(address, bytes, advice, device);
        return real_cuda.cuMemAdvise_v2
                       ? real_cuda.cuMemAdvise_v2(address, bytes, advice, location_of(device))
                       : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult managed_prefetch(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
        if (real_cuda.cuMemPrefetchAsync)
                return real_cuda.cuMemPrefetchAsync(address, bytes, device, stream);
        return real_cuda.cuMemPrefetchAsync_v2
                       ? real_cuda.cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0,
                                                         stream)
                       : CUDA_ERROR_NOT_SUPPORTED;
}
