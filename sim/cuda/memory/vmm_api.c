/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemCreate and what is done with its handles. */
#include "driver.h"
#include "lookup.h"
#include "sim_cuda.h"
#include "vmm.h"

static CUresult props_check(const CUmemAllocationProp *prop)
{
        if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
                return CUDA_ERROR_INVALID_VALUE;
        if (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_NOT_SUPPORTED;
        return driver_device(prop->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                         const CUmemAllocationProp *prop, unsigned long long flags)
{
        struct physical *physical;
        CUresult r = props_check(prop);

        if (r != CUDA_SUCCESS)
                return r;
        if (!handle || !size || size & PAGE_MASK || flags)
                return CUDA_ERROR_INVALID_VALUE;
        vmm_lock();
        r = physical_new(driver_device(prop->location.id), size, prop, false, &physical);
        if (r == CUDA_SUCCESS)
                *handle = physical->handle;
        vmm_unlock();
        return r;
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
        CUresult r = CUDA_ERROR_INVALID_VALUE;

        vmm_lock();
        struct physical *physical = physical_get(handle);
        if (physical && physical->references) {
                physical_put(physical, &physical->references);
                r = CUDA_SUCCESS;
        }
        vmm_unlock();
        return r;
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
        CUresult r = CUDA_ERROR_INVALID_VALUE;

        if (!handle)
                return r;
        vmm_lock();
        struct allocation *allocation = memory_find((CUdeviceptr)(uintptr_t)addr);
        if (allocation && allocation->kind == MEMORY_MAPPED) {
                struct mapping *mapping = allocation->owner;
                mapping->physical->references++;
                *handle = mapping->physical->handle;
                r = CUDA_SUCCESS;
        }
        vmm_unlock();
        return r;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                           CUmemAllocationGranularity_flags option)
{
        CUresult r = props_check(prop);

        if (r != CUDA_SUCCESS)
                return r;
        if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                             option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
                return CUDA_ERROR_INVALID_VALUE;
        *granularity = PAGE_BYTES;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                    CUmemGenericAllocationHandle handle)
{
        CUresult r = CUDA_ERROR_INVALID_VALUE;

        if (!prop)
                return r;
        vmm_lock();
        struct physical *physical = physical_get(handle);
        if (physical) {
                *prop = physical->props;
                r = CUDA_SUCCESS;
        }
        vmm_unlock();
        return r;
}
