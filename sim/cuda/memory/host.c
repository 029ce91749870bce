/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: page-locked allocations, and ranges of the program's own that it registers. */
#include "host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "heap.h"
#include "holdings.h"
#include "sim_cuda.h"

enum {
        HOST_ALLOC_FLAGS = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                           CU_MEMHOSTALLOC_WRITECOMBINED,
        HOST_REGISTER_FLAGS = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                              CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY,
};

/* Registered ranges, sorted by address; they never overlap. A range that goes is kept for the next
 * one: someone may still read it. */
static struct {
        pthread_rwlock_t lock;
        struct allocation **ranges;
        size_t count, capacity;
        _Atomic size_t visible;   /* count, readable without the lock */
        struct allocation *spare; /* linked through `owner` */
} host = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* Index of the first range that ends behind the address. */
static size_t host_index(CUdeviceptr address)
{
        size_t low = 0, high = host.count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                struct allocation *range = host.ranges[middle];
                if (range->base + range->size <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

struct allocation *host_find(CUdeviceptr address)
{
        struct allocation *found = NULL;

        if (!atomic_load_explicit(&host.visible, memory_order_acquire))
                return NULL;
        pthread_rwlock_rdlock(&host.lock);
        size_t index = host_index(address);
        if (index < host.count && address >= host.ranges[index]->base)
                found = host.ranges[index];
        pthread_rwlock_unlock(&host.lock);
        return found;
}

static CUresult host_insert(struct allocation *range)
{
        size_t index = host_index(range->base);

        if (index < host.count && host.ranges[index]->base < range->base + range->size)
                return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        if (host.count == host.capacity) {
                size_t capacity = host.capacity ? 2 * host.capacity : 64;
                void *grown = realloc(host.ranges, capacity * sizeof *host.ranges);
                if (!grown)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                host.ranges = grown;
                host.capacity = capacity;
        }
        memmove(&host.ranges[index + 1], &host.ranges[index],
                (host.count - index) * sizeof *host.ranges);
        host.ranges[index] = range;
        host.count++;
        atomic_store(&host.visible, host.count);
        return CUDA_SUCCESS;
}

static void host_remove(size_t index)
{
        host.ranges[index]->owner = host.spare;
        host.spare = host.ranges[index];
        host.count--;
        memmove(&host.ranges[index], &host.ranges[index + 1],
                (host.count - index) * sizeof *host.ranges);
        atomic_store(&host.visible, host.count);
}

void host_context_done(struct context *context)
{
        pthread_rwlock_wrlock(&host.lock);
        for (size_t i = host.count; i-- > 0;)
                if (host.ranges[i]->context == context)
                        host_remove(i);
        pthread_rwlock_unlock(&host.lock);
}

/* Room for a range; NULL: no memory. */
static struct allocation *host_spare(void)
{
        pthread_rwlock_wrlock(&host.lock);
        struct allocation *range = host.spare;
        if (range)
                host.spare = range->owner;
        pthread_rwlock_unlock(&host.lock);
        return range ? range : calloc(1, sizeof *range);
}

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
        struct allocation *range = host_spare();
        if (!range)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *range = (struct allocation){
                .base = base,
                .size = bytesize,
                .kind = MEMORY_REGISTERED,
                .flags = Flags | CU_MEMHOSTREGISTER_DEVICEMAP,
                .context = context,
                .bytes = p,
                .buffer_id = allocation_number_next(),
        };
        pthread_rwlock_wrlock(&host.lock);
        r = host_insert(range);
        pthread_rwlock_unlock(&host.lock);
        if (r != CUDA_SUCCESS)
                free(range);
        return r;
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
        pthread_rwlock_wrlock(&host.lock);
        size_t index = host_index(base);
        if (index < host.count && host.ranges[index] == range)
                host_remove(index);
        pthread_rwlock_unlock(&host.lock);
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
