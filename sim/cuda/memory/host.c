/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: page-locked allocations, and ranges of the program's own that it registers. */
#include "capture.h"
#include "heap.h"
#include "memory.h"
#include "sim_cuda.h"

enum {
        HOST_ALLOC_FLAGS = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                           CU_MEMHOSTALLOC_WRITECOMBINED,
        HOST_REGISTER_FLAGS = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                              CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY,
};

static CUresult host_alloc(void **ret, size_t bytes, unsigned flags)
{
        struct context *context;
        CUdeviceptr address;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!ret || !bytes || flags & ~(unsigned)HOST_ALLOC_FLAGS)
                return CUDA_ERROR_INVALID_VALUE;
        r = memory_alloc(context, bytes, MEMORY_HOST, &address);
        if (r != CUDA_SUCCESS)
                return r;
        memory_find(address)->flags = flags | CU_MEMHOSTALLOC_DEVICEMAP;
        *ret = (void *)(uintptr_t)address;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
        return host_alloc(pp, bytesize, Flags);
}

CUresult sim_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
        return host_alloc(pp, bytesize, 0);
}

CUresult sim_cuMemAllocHost(void **pp, unsigned int bytesize)
{
        return host_alloc(pp, bytesize, 0);
}

CUresult sim_cuMemFreeHost(void *p)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!p)
                return CUDA_SUCCESS;
        struct allocation *allocation = memory_find((CUdeviceptr)(uintptr_t)p);
        if (!allocation || allocation->kind != MEMORY_HOST ||
            allocation->base != (CUdeviceptr)(uintptr_t)p)
                return CUDA_ERROR_INVALID_VALUE;
        r = context_wait(allocation->context);
        heap_free(allocation);
        return r;
}

CUresult sim_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
        struct context *context;
        CUdeviceptr base = (CUdeviceptr)(uintptr_t)p;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!p || !bytesize || base + bytesize < base || Flags & ~(unsigned)HOST_REGISTER_FLAGS)
                return CUDA_ERROR_INVALID_VALUE;
        if (memory_find(base) || memory_find(base + bytesize - 1))
                return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        const struct allocation range = {
                .base = base,
                .size = bytesize,
                .kind = MEMORY_REGISTERED,
                .flags = Flags | CU_MEMHOSTREGISTER_DEVICEMAP,
                .context = context,
                .bytes = p,
                .buffer_id = allocation_number_next(),
        };
        return registered_add(&range);
}

CUresult sim_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
        return sim_cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult sim_cuMemHostUnregister(void *p)
{
        struct context *context;
        CUdeviceptr base = (CUdeviceptr)(uintptr_t)p;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!p)
                return CUDA_ERROR_INVALID_VALUE;
        struct allocation *range = memory_find(base);
        if (!range || range->kind != MEMORY_REGISTERED || range->base != base)
                return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
        r = context_wait(range->context);
        registered_remove(range);
        return r;
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!pdptr || !p || Flags)
                return CUDA_ERROR_INVALID_VALUE;
        struct allocation *allocation = memory_find((CUdeviceptr)(uintptr_t)p);
        if (!allocation || !memory_is_on_host(allocation))
                return CUDA_ERROR_INVALID_VALUE;
        *pdptr = (CUdeviceptr)(uintptr_t)p;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetDevicePointer(CUdeviceptr_v1 *pdptr, void *p, unsigned int Flags)
{
        CUdeviceptr wide;
        CUresult r = sim_cuMemHostGetDevicePointer_v2(pdptr ? &wide : NULL, p, Flags);

        if (r != CUDA_SUCCESS)
                return r;
        if (wide > UINT32_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        *pdptr = (CUdeviceptr_v1)wide;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        struct allocation *allocation = memory_find((CUdeviceptr)(uintptr_t)p);
        if (!pFlags || !allocation || allocation->kind != MEMORY_HOST)
                return CUDA_ERROR_INVALID_VALUE;
        *pFlags = allocation->flags;
        return CUDA_SUCCESS;
}
