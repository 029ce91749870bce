/* SPDX-License-Identifier: Apache-2.0 */
/* Plain device memory: allocate, free, find, and how much there is. */
#include "memory.h"

#include <stdlib.h>

#include "array.h"
#include "holdings.h"
#include "ipc.h"
#include "kernel_heap.h"
#include "managed.h"
#include "pool.h"

void memory_context_done(struct context *context)
{
        struct holdings *holdings = context->holdings;

        array_context_done(context);
        ipc_context_done(context);
        managed_context_done(context);
        registered_context_done(context);
        pool_context_done(context);
        if (!holdings)
                return;
        heap_done(&holdings->device);
        heap_done(&holdings->low);
        heap_done(&holdings->host);
        heap_done(&holdings->managed);
        heap_done(&holdings->arrays);
        heap_done(&holdings->kernel);
        kernel_heap_done(holdings->kernel_heap);
        context->holdings = NULL;
        free(holdings);
}

/* The heap a kind of memory comes from. */
static struct heap *holdings_heap(struct holdings *holdings, enum memory_kind kind)
{
        switch (kind) {
        case MEMORY_HOST:
                return &holdings->host;
        case MEMORY_ARRAY:
                return &holdings->arrays;
        default:
                return &holdings->device;
        }
}

static CUresult heap_alloc_address(struct heap *heap, size_t bytes, enum memory_kind kind,
                                   CUdeviceptr *ret_address)
{
        struct allocation *allocation;

        if (!bytes)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult r = heap_alloc(heap, bytes, kind, &allocation);
        if (r == CUDA_ERROR_OUT_OF_MEMORY && heap->device && pool_reclaim(heap->device))
                r = heap_alloc(heap, bytes, kind, &allocation);
        if (r == CUDA_SUCCESS)
                *ret_address = allocation->base;
        return r;
}

CUresult memory_alloc(struct context *context, size_t bytes, enum memory_kind kind,
                      CUdeviceptr *ret_address)
{
        struct holdings *holdings = context_holdings(context);

        if (!holdings)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (kind == MEMORY_MANAGED)
                return bytes ? managed_alloc(context, bytes, CU_MEM_ATTACH_GLOBAL, ret_address)
                             : CUDA_ERROR_INVALID_VALUE;
        return heap_alloc_address(holdings_heap(holdings, kind), bytes, kind, ret_address);
}

CUresult memory_free(CUdeviceptr address)
{
        struct allocation *allocation = memory_find(address);

        if (!allocation || allocation->base != address)
                return CUDA_ERROR_INVALID_VALUE;
        switch (allocation->kind) {
        case MEMORY_DEVICE:
        case MEMORY_GRAPH:
                ipc_withdraw(allocation);
                heap_free(allocation);
                return CUDA_SUCCESS;
        case MEMORY_MANAGED:
                managed_free(allocation);
                return CUDA_SUCCESS;
        case MEMORY_POOL:
                ipc_withdraw(allocation);
                return pool_free(allocation);
        case MEMORY_IMPORTED:
                /* A pool's pointer; what cuIpcOpenMemHandle gave is closed, not freed. */
                if (!allocation->pool)
                        return CUDA_ERROR_INVALID_VALUE;
                ipc_close(allocation);
                return CUDA_SUCCESS;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}
