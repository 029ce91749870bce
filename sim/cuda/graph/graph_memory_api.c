/* SPDX-License-Identifier: Apache-2.0 */
/* cuDeviceGetGraphMemAttribute and its kin: the memory of graphs as a device sees it. */
#include "driver.h"
#include "sim_cuda.h"

CUresult sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
        struct device *known = driver_device(device);

        if (!known)
                return CUDA_ERROR_INVALID_DEVICE;
        if (!value || (unsigned)attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
                return CUDA_ERROR_INVALID_VALUE;
        *(uint64_t *)value = known->graph_memory[attr];
        return CUDA_SUCCESS;
}

/* High-water marks can only be put back to now. */
CUresult sim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
        struct device *known = driver_device(device);

        if (!known)
                return CUDA_ERROR_INVALID_DEVICE;
        if (!value || *(uint64_t *)value ||
            (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
             attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
                return CUDA_ERROR_INVALID_VALUE;
        known->graph_memory[attr] = known->graph_memory[attr - 1];
        return CUDA_SUCCESS;
}

/* What graphs do not use is given back at once: nothing is left to trim. */
CUresult sim_cuDeviceGraphMemTrim(CUdevice device)
{
        return driver_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
