/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory apart from addresses: charged from its creation until its handle is released and
 * its last mapping is gone, in whatever order. */
#include "devices.h"
#include "export_range.h"
#include "gate_memory.h"
#include "limits.h"
#include "physical.h"
#include "presence.h"
#include "real.h"

static int location_ordinal(const CUmemAllocationProp *properties)
{
        return properties && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE
                       ? properties->location.id
                       : -1;
}

CUresult hook_cuMemCreate(cuMemCreate_fn *real, CUmemGenericAllocationHandle *handle, size_t bytes,
                          const CUmemAllocationProp *properties, unsigned long long flags)
{
        struct charge charge;
        int ordinal = location_ordinal(properties);

        if (ordinal < 0) /* host memory, or nonsense: the driver says which */
                return real(handle, bytes, properties, flags);
        CUresult r = gate_memory_admit(devices_index(ordinal), 0, bytes, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        r = real(handle, bytes, properties, flags);
        if (!charge.is_counted)
                return r;
        if (r == CUDA_SUCCESS)
                physical_add(&charge, *handle);
        else
                gate_memory_give_back(&charge, r);
        presence_leave();
        return r;
}

/* A second handle for what is mapped at an address. */
CUresult hook_cuMemRetainAllocationHandle(cuMemRetainAllocationHandle_fn *real,
                                          CUmemGenericAllocationHandle *handle, void *address)
{
        CUresult r = real(handle, address);

        if (r == CUDA_SUCCESS && limits_are_set())
                physical_retain(*handle, (uint64_t)(uintptr_t)address);
        return r;
}

/* Others may hold it from now on, and after this process. */
CUresult hook_cuMemExportToShareableHandle(cuMemExportToShareableHandle_fn *real, void *exported,
                                           CUmemGenericAllocationHandle handle,
                                           CUmemAllocationHandleType type, unsigned long long flags)
{
        if (!limits_are_set() || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return real(exported, handle, type, flags);
        presence_enter();
        CUresult r = real(exported, handle, type, flags);
        if (r == CUDA_SUCCESS)
                physical_export(handle, *(const int *)exported);
        presence_leave();
        return r;
}

/* Memory of another container is this one's too: the other may end before it. */
static CUresult foreign_admit(CUmemGenericAllocationHandle handle, struct export_range range,
                              struct charge *ret_charge)
{
        CUmemAllocationProp properties;
        CUresult r = real_cuda.cuMemGetAllocationPropertiesFromHandle(&properties, handle);

        if (r == CUDA_SUCCESS)
                r = gate_memory_admit(devices_index(location_ordinal(&properties)), 0,
                                      range.granules * LEDGER_GRANULE_BYTES, ret_charge);
        return r;
}

/* What the container's own processes have made is charged to them. */
static CUresult import_charge(CUmemGenericAllocationHandle handle, struct export_range range,
                              int fd)
{
        struct charge charge = { 0 };

        if (export_range_is_of(ledger_region(), range)) {
                presence_enter();
        } else {
                CUresult r = foreign_admit(handle, range, &charge);
                if (r != CUDA_SUCCESS || !charge.is_counted)
                        return r;
        }
        physical_import(&charge, handle, range, fd);
        presence_leave();
        return CUDA_SUCCESS;
}

CUresult hook_cuMemImportFromShareableHandle(cuMemImportFromShareableHandle_fn *real,
                                             CUmemGenericAllocationHandle *handle, void *os_handle,
                                             CUmemAllocationHandleType type)
{
        const int fd = (int)(intptr_t)os_handle;
        struct export_range range;
        CUresult r = real(handle, os_handle, type);

        if (r != CUDA_SUCCESS || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
            !limits_are_set() || !ledger_is_open() || !export_range_of(fd, &range))
                return r;
        r = import_charge(*handle, range, fd);
        if (r != CUDA_SUCCESS)
                real_cuda.cuMemRelease(*handle);
        return r;
}

CUresult hook_cuMemMap(cuMemMap_fn *real, CUdeviceptr address, size_t bytes, size_t offset,
                       CUmemGenericAllocationHandle handle, unsigned long long flags)
{
        if (!limits_are_set())
                return real(address, bytes, offset, handle, flags);
        presence_enter();
        CUresult r = real(address, bytes, offset, handle, flags);
        if (r == CUDA_SUCCESS)
                physical_map(handle, address, bytes);
        presence_leave();
        return r;
}

CUresult hook_cuMemUnmap(cuMemUnmap_fn *real, CUdeviceptr address, size_t bytes)
{
        if (!limits_are_set())
                return real(address, bytes);
        presence_enter();
        CUresult r = real(address, bytes);
        if (r == CUDA_SUCCESS)
                physical_unmap(address, bytes);
        presence_leave();
        return r;
}

CUresult hook_cuMemRelease(cuMemRelease_fn *real, CUmemGenericAllocationHandle handle)
{
        if (!limits_are_set())
                return real(handle);
        presence_enter();
        CUresult r = real(handle);
        if (r == CUDA_SUCCESS)
                physical_release(handle);
        presence_leave();
        return r;
}
