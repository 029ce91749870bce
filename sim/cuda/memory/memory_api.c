/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemAlloc and its kin. */
#include <string.h>

#include "capture.h"
#include "graph_memory.h"
#include "heap.h"
#include "holdings.h"
#include "managed.h"
#include "memory.h"
#include "sim_cuda.h"
#include "slot.h"
#include "unit_memory.h"

#define PITCH_BYTES UINT64_C(512)

/* What every allocation asks first. */
static CUresult memory_begin(struct context **ret_context)
{
        CUresult r = context_need(ret_context);

        return r == CUDA_SUCCESS ? capture_forbids() : r;
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
        struct context *context;
        CUresult r = memory_begin(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!dptr)
                return CUDA_ERROR_INVALID_VALUE;
        return memory_alloc(context, bytesize, MEMORY_DEVICE, dptr);
}

/* 32-bit callers get addresses they can hold. */
CUresult sim_cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytesize)
{
        struct context *context;
        struct allocation *allocation;
        CUresult r = memory_begin(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!dptr || !bytesize)
                return CUDA_ERROR_INVALID_VALUE;
        struct holdings *holdings = context_holdings(context);
        if (!holdings)
                return CUDA_ERROR_OUT_OF_MEMORY;
        r = heap_alloc(&holdings->low, bytesize, MEMORY_DEVICE, &allocation);
        if (r == CUDA_SUCCESS)
                *dptr = (CUdeviceptr_v1)allocation->base;
        return r;
}

/* Bytes of `height` rows, or 0 when there is no such number. */
static size_t pitch_of(size_t width, size_t height, unsigned element, size_t *ret_total)
{
        if (!width || !height || (element != 4 && element != 8 && element != 16))
                return 0;
        size_t pitch = (width + PITCH_BYTES - 1) & ~(PITCH_BYTES - 1);
        if (pitch < width || __builtin_mul_overflow(pitch, height, ret_total))
                *ret_total = SIZE_MAX;
        return pitch;
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                size_t Height, unsigned int ElementSizeBytes)
{
        size_t total = 0;
        size_t pitch = pitch_of(WidthInBytes, Height, ElementSizeBytes, &total);
        struct context *context;
        CUresult r = memory_begin(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!dptr || !pPitch || !total)
                return CUDA_ERROR_INVALID_VALUE;
        r = memory_alloc(context, total, MEMORY_DEVICE, dptr);
        if (r == CUDA_SUCCESS)
                *pPitch = pitch;
        return r;
}

CUresult sim_cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pPitch, unsigned int WidthInBytes,
                             unsigned int Height, unsigned int ElementSizeBytes)
{
        size_t total = 0;
        size_t pitch = pitch_of(WidthInBytes, Height, ElementSizeBytes, &total);

        if (!pPitch || !total)
                return CUDA_ERROR_INVALID_VALUE;
        if (total > UINT32_MAX)
                return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = sim_cuMemAlloc(dptr, (unsigned)total);
        if (r == CUDA_SUCCESS)
                *pPitch = (unsigned)pitch;
        return r;
}

CUresult sim_cuMemFree_v2(CUdeviceptr dptr)
{
        struct context *context;
        CUresult r = memory_begin(&context);

        if (r != CUDA_SUCCESS || !dptr)
                return r;
        struct allocation *allocation = memory_find(dptr);
        if (!allocation || allocation->base != dptr)
                return CUDA_ERROR_INVALID_VALUE;
        /* Kernels that still use it come first, as on hardware. */
        bool has_own = allocation->context && allocation->kind != MEMORY_POOL;
        r = context_wait(has_own ? allocation->context : context);
        if (r != CUDA_SUCCESS)
                return r;
        return allocation->kind == MEMORY_GRAPH ? graph_memory_free(allocation) : memory_free(dptr);
}

CUresult sim_cuMemFree(CUdeviceptr_v1 dptr)
{
        return sim_cuMemFree_v2(dptr);
}

CUresult sim_cuMemGetInfo_v2(size_t *free, size_t *total)
{
        struct unit_memory memory;
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!free && !total)
                return CUDA_ERROR_INVALID_VALUE;
        slot_reap(&driver.machine);
        managed_notice_host();
        unit_memory(&driver.machine, context->device->unit, &memory);
        if (free)
                *free = memory.free_bytes;
        if (total)
                *total = memory.total_bytes;
        return CUDA_SUCCESS;
}

static unsigned narrow(size_t bytes)
{
        return bytes > UINT32_MAX ? UINT32_MAX : (unsigned)bytes;
}

CUresult sim_cuMemGetInfo(unsigned int *free, unsigned int *total)
{
        size_t wide_free = 0, wide_total = 0;
        CUresult r = sim_cuMemGetInfo_v2(free ? &wide_free : NULL, total ? &wide_total : NULL);

        if (r != CUDA_SUCCESS)
                return r;
        if (free)
                *free = narrow(wide_free);
        if (total)
                *total = narrow(wide_total);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        struct allocation *allocation = memory_find(dptr);
        if (!allocation)
                return CUDA_ERROR_NOT_FOUND;
        if (pbase)
                *pbase = allocation->base;
        if (psize)
                *psize = allocation->size;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAddressRange(CUdeviceptr_v1 *pbase, unsigned int *psize, CUdeviceptr_v1 dptr)
{
        CUdeviceptr base = 0;
        size_t size = 0;
        CUresult r = sim_cuMemGetAddressRange_v2(&base, &size, dptr);

        if (r != CUDA_SUCCESS)
                return r;
        if (pbase)
                *pbase = (CUdeviceptr_v1)base;
        if (psize)
                *psize = narrow(size);
        return CUDA_SUCCESS;
}
