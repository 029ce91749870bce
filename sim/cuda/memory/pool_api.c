/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemPool*, cuMemAllocAsync and the pools of devices. */
#include <stdlib.h>

#include "capture.h"
#include "graph_memory.h"
#include "ipc.h"
#include "memory.h"
#include "pool.h"
#include "sim_cuda.h"

static CUresult alloc_async(CUdeviceptr *ret, size_t bytes, struct pool *pool,
                            struct stream *stream)
{
        /* The pool may be of another device than the stream. */
        if (!ret || !pool)
                return CUDA_ERROR_INVALID_VALUE;
        if (!bytes)
                return CUDA_ERROR_INVALID_VALUE;
        if (capture_is_active(stream))
                return capture_add_alloc(stream, pool, bytes, ret);
        return pool_alloc(pool, bytes, stream, ret);
}

/* The pool that cuMemAllocAsync takes from; NULL: no memory. */
static struct pool *pool_current(struct device *device)
{
        if (!device->current_pool)
                pool_default(device);
        return device->current_pool;
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        struct pool *pool = pool_current(stream->context->device);
        return pool ? alloc_async(dptr, bytesize, pool, stream) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                     CUstream hStream)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        return r == CUDA_SUCCESS ? alloc_async(dptr, bytesize, pool_get(pool), stream) : r;
}

struct free_later {
        CUdeviceptr address;
};

static CUresult free_run(void *closure, uint64_t *ret_duration_ns)
{
        struct free_later *later = closure;
        struct allocation *allocation = memory_find(later->address);

        (void)ret_duration_ns;
        if (allocation && allocation->kind == MEMORY_GRAPH)
                return graph_memory_free(allocation);
        return memory_free(later->address);
}

/* Memory that no pool has is given back when the stream comes to it. */
static CUresult free_plain(CUdeviceptr address, struct stream *stream)
{
        struct free_later *later = malloc(sizeof *later);

        if (!later)
                return CUDA_ERROR_OUT_OF_MEMORY;
        later->address = address;
        struct work work = { .engine = ENGINE_IN, .run = free_run, .free = free, .closure = later };
        return work_submit(stream, &work, NULL);
}

CUresult sim_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS || !dptr)
                return r;
        if (capture_is_active(stream))
                return capture_add_free(stream, dptr);
        struct allocation *allocation = memory_find(dptr);
        if (!allocation || allocation->base != dptr)
                return CUDA_ERROR_INVALID_VALUE;
        if (allocation->kind == MEMORY_POOL) {
                ipc_withdraw(allocation);
                return pool_free_on(allocation, stream);
        }
        if (allocation->kind == MEMORY_GRAPH)
                return graph_memory_free(allocation);
        if (allocation->kind == MEMORY_DEVICE || allocation->kind == MEMORY_MANAGED ||
            (allocation->kind == MEMORY_IMPORTED && allocation->pool))
                return free_plain(dptr, stream);
        return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
        struct pool *made;

        if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
                return CUDA_ERROR_INVALID_VALUE;
        if (poolProps->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_NOT_SUPPORTED;
        struct device *device = driver_device(poolProps->location.id);
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        CUresult r = pool_new(device, poolProps, &made);
        if (r == CUDA_SUCCESS)
                *pool = (CUmemoryPool)made;
        return r;
}

CUresult sim_cuMemPoolDestroy(CUmemoryPool pool)
{
        struct pool *known = pool_get(pool);

        if (!known || known->is_default)
                return CUDA_ERROR_INVALID_VALUE;
        return pool_destroy(known);
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
        struct pool *known = pool_get(pool);

        if (!known)
                return CUDA_ERROR_INVALID_VALUE;
        pool_trim(known, minBytesToKeep);
        return CUDA_SUCCESS;
}

/* Where an attribute of 64 bits is kept; NULL: it is not one. */
static uint64_t *pool_number(struct pool *pool, CUmemPool_attribute attribute)
{
        switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
                return &pool->threshold_bytes;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
                return &pool->heap.reserved_bytes;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
                return &pool->heap.reserved_high_bytes;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
                return &pool->heap.used_bytes;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
                return &pool->heap.used_high_bytes;
        default:
                return NULL;
        }
}

static bool is_reuse(CUmemPool_attribute attribute)
{
        return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
               attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
        struct pool *known = pool_get(pool);

        if (!known || !value)
                return CUDA_ERROR_INVALID_VALUE;
        if (is_reuse(attr)) {
                *(int *)value =
                        known->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
                return CUDA_SUCCESS;
        }
        uint64_t *number = pool_number(known, attr);
        if (!number)
                return CUDA_ERROR_INVALID_VALUE;
        *(uint64_t *)value = *number;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
        struct pool *known = pool_get(pool);

        if (!known || !value)
                return CUDA_ERROR_INVALID_VALUE;
        if (is_reuse(attr)) {
                known->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] =
                        *(int *)value != 0;
                return CUDA_SUCCESS;
        }
        switch (attr) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
                known->threshold_bytes = *(uint64_t *)value;
                return CUDA_SUCCESS;
        /* High-water marks can only be put back to now. */
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
                if (*(uint64_t *)value)
                        return CUDA_ERROR_INVALID_VALUE;
                known->heap.reserved_high_bytes = known->heap.reserved_bytes;
                return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
                if (*(uint64_t *)value)
                        return CUDA_ERROR_INVALID_VALUE;
                known->heap.used_high_bytes = known->heap.used_bytes;
                return CUDA_SUCCESS;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

CUresult sim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
        struct pool *known = pool_get(pool);

        if (!known || (!map && count))
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count; i++) {
                struct device *device = driver_device(map[i].location.id);
                if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device)
                        return CUDA_ERROR_INVALID_DEVICE;
                /* The pool's own device always may. */
                if (device == known->device && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                        return CUDA_ERROR_INVALID_VALUE;
        }
        for (size_t i = 0; i < count; i++) {
                uint64_t bit = UINT64_C(1) << map[i].location.id;
                known->readers = map[i].flags & 1 ? known->readers | bit : known->readers & ~bit;
                known->writers = map[i].flags & 2 ? known->writers | bit : known->writers & ~bit;
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
                                CUmemLocation *location)
{
        struct pool *known = pool_get(memPool);

        if (!flags || !known || !location)
                return CUDA_ERROR_INVALID_VALUE;
        struct device *device = driver_device(location->id);
        if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !device)
                return CUDA_ERROR_INVALID_DEVICE;
        *flags = pool_allows(known, device, true)    ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : pool_allows(known, device, false) ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                     : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
        struct device *device = driver_device(dev);

        if (!pool_out)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        *pool_out = (CUmemoryPool)pool_default(device);
        return *pool_out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
        struct device *device = driver_device(dev);

        if (!pool)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        *pool = (CUmemoryPool)pool_current(device);
        return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
        struct device *device = driver_device(dev);
        struct pool *known = pool_get(pool);

        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        if (!known || known->device != device)
                return CUDA_ERROR_INVALID_VALUE;
        pool_default(device);
        device->current_pool = known;
        return CUDA_SUCCESS;
}

/* The device a location means for pools; NULL: not one. */
static struct device *location_device(const CUmemLocation *location, CUmemAllocationType type)
{
        if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
            type != CU_MEM_ALLOCATION_TYPE_PINNED)
                return NULL;
        return driver_device(location->id);
}

CUresult sim_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                    CUmemAllocationType type)
{
        struct device *device = location_device(location, type);

        return device ? sim_cuDeviceGetDefaultMemPool(pool_out, device->ordinal)
                      : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
        struct device *device = location_device(location, type);

        return device ? sim_cuDeviceGetMemPool(pool, device->ordinal) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
        struct device *device = location_device(location, type);

        return device ? sim_cuDeviceSetMemPool(device->ordinal, pool) : CUDA_ERROR_INVALID_VALUE;
}
