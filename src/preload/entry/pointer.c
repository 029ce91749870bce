/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is told of a pointer: virtual memory in place of device memory passes for it. */
#include <string.h>

#include <stdatomic.h>

#include "log.h"
#include "real.h"
#include "virtual_range.h"

static bool fallback_find(CUdeviceptr address, struct virtual_range *ret_range)
{
        return virtual_range_is_any() && virtual_range_find(address, 1, ret_range) &&
               ret_range->is_fallback;
}

/* The answer that device memory would give; false: the driver's own is right. */
static bool answer(const struct virtual_range *range, CUpointer_attribute attribute, void *value)
{
        unsigned type = CU_MEMORYTYPE_DEVICE;
        bool no = false;

        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
                memcpy(value, &type, sizeof type);
                return true;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
                memcpy(value, &no, sizeof no);
                return true;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
                memcpy(value, &range->ordinal, sizeof range->ordinal);
                return true;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
                memcpy(value, &range->pool, sizeof range->pool);
                return true;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
                memset(value, 0, sizeof(void *));
                return true;
        default:
                return false;
        }
}

CUresult hook_cuPointerGetAttribute(cuPointerGetAttribute_fn *real, void *value,
                                    CUpointer_attribute attribute, CUdeviceptr address)
{
        struct virtual_range range;
        CUresult r = real(value, attribute, address);

        if (r != CUDA_SUCCESS || !fallback_find(address, &range))
                return r;
        /* Asked by itself, what device memory does not have is an error; so is what was freed. */
        if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER || range.event)
                return CUDA_ERROR_INVALID_VALUE;
        answer(&range, attribute, value);
        return r;
}

CUresult hook_cuPointerGetAttributes(cuPointerGetAttributes_fn *real, unsigned int count,
                                     CUpointer_attribute *attributes, void **values,
                                     CUdeviceptr address)
{
        struct virtual_range range;
        CUresult r = real(count, attributes, values, address);

        if (r != CUDA_SUCCESS || !fallback_find(address, &range))
                return r;
        for (unsigned i = 0; i < count; i++)
                answer(&range, attributes[i], values[i]);
        return r;
}

/* Other processes cannot map managed memory, and it cannot move to where they could: its address is
 * in the program's hands. */
CUresult hook_cuIpcGetMemHandle(cuIpcGetMemHandle_fn *real, CUipcMemHandle *handle,
                                CUdeviceptr address)
{
        struct virtual_range range;

        if (!fallback_find(address, &range))
                return real(handle, address);
        static atomic_bool is_told;
        log_write(atomic_exchange(&is_told, true) ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
                  "virtual memory cannot be shared with other processes; allocate shared memory "
                  "with cuMemCreate");
        return CUDA_ERROR_NOT_SUPPORTED;
}
