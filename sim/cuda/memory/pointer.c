/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a pointer. */
#include <string.h>

#include "memory.h"
#include "pool.h"
#include "sim_cuda.h"
#include "vmm.h"

/* Space for every attribute's value. */
union value {
        void *pointer;
        unsigned long long wide;
        size_t size;
        unsigned int narrow;
        int number;
        unsigned char flag;
};

/* How many bytes an attribute has; 0: it cannot be asked for. */
static size_t attribute_bytes(CUpointer_attribute attribute)
{
        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
                return 8;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
                return 4;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
                return 1;
        default:
                return 0;
        }
}

static bool allocation_is_on_host(const struct allocation *allocation)
{
        return memory_is_on_host(allocation) || allocation->kind == MEMORY_MANAGED;
}

static int allocation_ordinal(const struct allocation *allocation)
{
        if (allocation->device)
                return allocation->device->ordinal;
        return allocation->context ? allocation->context->device->ordinal : CU_DEVICE_INVALID;
}

/* A number each; false: this allocation has no such attribute. */
static bool allocation_number(const struct allocation *allocation, CUpointer_attribute attribute,
                              CUdeviceptr pointer, unsigned long long *ret)
{
        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
                *ret = (uintptr_t)(context_get((CUcontext)allocation->context) ? allocation->context
                                                                               : NULL);
                return allocation->kind != MEMORY_MAPPED && allocation->kind != MEMORY_POOL;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
                *ret = pointer;
                return true;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
                *ret = pointer;
                return allocation_is_on_host(allocation);
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
                *ret = allocation->buffer_id;
                return true;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
                *ret = allocation->base;
                return true;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
                *ret = allocation->size;
                return true;
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
                *ret = allocation->kind == MEMORY_MAPPED ? vmm_handle_types(allocation)
                       : allocation->pool                ? allocation->pool->props.handleTypes
                                                         : 0;
                return true;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
                *ret = (uintptr_t)allocation->pool;
                return true;
        default:
                return false;
        }
}

static bool allocation_flag(const struct allocation *allocation, CUpointer_attribute attribute)
{
        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
                return allocation->is_synchronous;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
                return allocation->kind == MEMORY_MANAGED;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
                return allocation->kind == MEMORY_DEVICE;
        case CU_POINTER_ATTRIBUTE_MAPPED:
                return true;
        default:
                return false;
        }
}

/* The value for a known pointer; false: it has none. */
static bool attribute_of(const struct allocation *allocation, CUpointer_attribute attribute,
                         CUdeviceptr pointer, union value *value)
{
        struct context *current = context_current();

        switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
                value->narrow =
                        memory_is_on_host(allocation) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
                return true;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
                value->number = allocation_ordinal(allocation);
                return true;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
                value->narrow = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
                if (allocation->kind == MEMORY_MAPPED && current)
                        value->narrow = vmm_allows(allocation, current->device, true)    ? 3
                                        : vmm_allows(allocation, current->device, false) ? 1
                                                                                         : 0;
                return true;
        default:
                if (attribute_bytes(attribute) == 1) {
                        value->flag = allocation_flag(allocation, attribute);
                        return true;
                }
                return allocation_number(allocation, attribute, pointer, &value->wide);
        }
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
        struct allocation *allocation = memory_find(ptr);
        union value value = { 0 };

        if (!data || !attribute_bytes(attribute))
                return CUDA_ERROR_INVALID_VALUE;
        if (!allocation || !attribute_of(allocation, attribute, ptr, &value))
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(data, &value, attribute_bytes(attribute));
        return CUDA_SUCCESS;
}

/* Pointers that are none of ours have the null values: no error. */
CUresult sim_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                    void **data, CUdeviceptr ptr)
{
        struct allocation *allocation = memory_find(ptr);

        if (!numAttributes || !attributes || !data)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < numAttributes; i++)
                if (!attribute_bytes(attributes[i]) || !data[i])
                        return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < numAttributes; i++) {
                union value value = { 0 };
                if (!allocation || !attribute_of(allocation, attributes[i], ptr, &value))
                        memset(&value, 0, sizeof value);
                if (!allocation && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
                        value.number = CU_DEVICE_INVALID;
                memcpy(data[i], &value, attribute_bytes(attributes[i]));
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                   CUdeviceptr ptr)
{
        struct allocation *allocation = memory_find(ptr);

        if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
                return CUDA_ERROR_INVALID_VALUE;
        if (!allocation || memory_is_on_host(allocation))
                return CUDA_ERROR_INVALID_VALUE;
        allocation->is_synchronous = *(const unsigned int *)value != 0;
        return CUDA_SUCCESS;
}

/* No simulated GPU can be reached by other devices of the host (DMA_BUF_SUPPORTED is 0). */
CUresult sim_cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
                                           CUmemRangeHandleType handleType,
                                           unsigned long long flags)
{
        (void)dptr;
        (void)flags;
        if (!handle || !size || handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD)
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_ERROR_NOT_SUPPORTED;
}
