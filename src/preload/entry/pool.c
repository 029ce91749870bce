/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered memory and its pools. No stream is ever synchronised for the ledger's sake. */
#include "devices.h"
#include "gate_memory.h"
#include "graph_charge.h"
#include "limits.h"
#include "pool_charge.h"
#include "presence.h"
#include "real.h"
#include "refusal.h"
#include "stream.h"
#include "virtual.h"

/* One stream-ordered request. */
struct request {
        CUmemoryPool pool;
        int ordinal; /* of the pool's device */
        size_t bytes;
        CUstream stream;
        CUdeviceptr *address;
};

/* The pool may have grown: the charge becomes what it has grown by; too much is given back to the
 * driver. */
static CUresult grown(const struct request *request, struct charge *charge)
{
        CUresult r = pool_charge_grow(charge, request->pool, request->ordinal, *request->address,
                                      request->bytes);

        if (r != CUDA_SUCCESS) {
                real_cuda.cuMemFreeAsync(*request->address, request->stream);
                real_cuda.cuMemPoolTrimTo(request->pool, 0);
                pool_charge_freed(*request->address);
                if (!charge->has_fallback)
                        refusal_tell((int)charge->device_index, request->bytes, REFUSAL_LIMIT);
        }
        return r;
}

static CUresult settle(const struct request *request, struct charge *charge, CUresult result)
{
        if (!charge->is_counted)
                return result;
        if (result == CUDA_SUCCESS)
                result = grown(request, charge);
        else
                gate_memory_give_back(charge, result);
        presence_leave();
        return result;
}

/* The limit leaves nothing for a larger pool. But what the stream has freed before is charged already, and
 * the driver gives it out again before it takes more of the GPU. True: ask it. */
static bool again_begin(const struct request *request, struct charge *ret_charge)
{
        *ret_charge = (struct charge){ .device_index = (unsigned)devices_index(request->ordinal),
                                       .is_counted = true };
        if (!pool_charge_has_freed(request->pool, request->stream, request->bytes))
                return false;
        presence_lock(); /* alone, what was freed is nobody else's: asked again */
        if (pool_charge_has_freed(request->pool, request->stream, request->bytes))
                return true;
        presence_unlock();
        return false;
}

static CUresult again_end(const struct request *request, struct charge *charge, CUresult result)
{
        if (result == CUDA_SUCCESS)
                result = grown(request, charge);
        presence_unlock();
        return result;
}

/* Is it the device's own, which a program that names no pool means? */
static bool is_default(CUmemoryPool pool, int ordinal)
{
        CUmemoryPool own = NULL;

        return real_cuda.cuDeviceGetDefaultMemPool(&own, ordinal) == CUDA_SUCCESS && own == pool;
}

CUresult hook_cuMemAllocAsync(cuMemAllocAsync_fn *real, CUdeviceptr *address, size_t bytes,
                              CUstream stream)
{
        CUstream meant =
                stream || real != real_cuda.cuMemAllocAsync_ptsz ? stream : CU_STREAM_PER_THREAD;
        struct target target = devices_of_stream(meant);
        CUmemoryPool pool = NULL;
        struct graph_charge node;
        struct graph_need need;
        struct charge charge;

        if (!limits_are_set() || !target.context)
                return real(address, bytes, stream);
        if (stream_is_captured(meant)) {
                graph_need_one(&need, target.ordinal, bytes);
                CUresult r = graph_charge_admit_node(&need, &node);
                return r != CUDA_SUCCESS
                               ? r
                               : graph_charge_settle(&need, &node, real(address, bytes, stream));
        }
        real_cuda.cuDeviceGetMemPool(&pool, target.ordinal);
        struct request request = { pool, target.ordinal, bytes, meant, address };
        CUresult r = gate_memory_try(target.device_index, 0, bytes, &charge);
        if (r == CUDA_SUCCESS)
                r = settle(&request, &charge, real(address, bytes, stream));
        else if (again_begin(&request, &charge))
                r = again_end(&request, &charge, real(address, bytes, stream));
        if (r != CUDA_ERROR_OUT_OF_MEMORY)
                return r;
        return is_default(pool, target.ordinal)
                       ? virtual_alloc_async(&target, bytes, pool, meant, address)
                       : gate_memory_refuse(target.device_index, bytes);
}

CUresult hook_cuMemAllocFromPoolAsync(cuMemAllocFromPoolAsync_fn *real, CUdeviceptr *address,
                                      size_t bytes, CUmemoryPool pool, CUstream stream)
{
        CUstream meant = stream || real != real_cuda.cuMemAllocFromPoolAsync_ptsz
                                 ? stream
                                 : CU_STREAM_PER_THREAD;
        struct target target = devices_of_stream(meant);
        struct graph_charge node;
        struct graph_need need;
        struct charge charge;

        if (!limits_are_set() || !target.context)
                return real(address, bytes, pool, stream);
        /* The pool's device, which need not be the stream's. An imported pool gives nothing. */
        int ordinal = pool_charge_ordinal(pool);
        if (ordinal < 0)
                return real(address, bytes, pool, stream);
        if (stream_is_captured(meant)) {
                graph_need_one(&need, ordinal, bytes);
                CUresult r = graph_charge_admit_node(&need, &node);
                return r != CUDA_SUCCESS ? r
                                         : graph_charge_settle(&need, &node,
                                                               real(address, bytes, pool, stream));
        }
        struct request request = { pool, ordinal, bytes, meant, address };
        CUresult r = gate_memory_admit(devices_index(ordinal), 0, bytes, &charge);
        if (r == CUDA_SUCCESS)
                return settle(&request, &charge, real(address, bytes, pool, stream));
        return again_begin(&request, &charge)
                       ? again_end(&request, &charge, real(address, bytes, pool, stream))
                       : r;
}

CUresult hook_cuMemFreeAsync(cuMemFreeAsync_fn *real, CUdeviceptr address, CUstream stream)
{
        CUstream meant =
                stream || real != real_cuda.cuMemFreeAsync_ptsz ? stream : CU_STREAM_PER_THREAD;
        CUresult r;

        if (!limits_are_set())
                return real(address, stream);
        if (virtual_free_async(address, meant, &r))
                return r;
        struct holding note;
        pool_charge_free_begin(address, &note);
        return pool_charge_free_end(real(address, stream), &note, &meant);
}

/* A pool belongs to the device it was made for, whichever context allocates from it. */
CUresult hook_cuMemPoolCreate(cuMemPoolCreate_fn *real, CUmemoryPool *pool,
                              const CUmemPoolProps *properties)
{
        CUresult r = real(pool, properties);

        if (r == CUDA_SUCCESS && limits_are_set() && properties)
                pool_charge_new(*pool, properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE
                                               ? properties->location.id
                                               : POOL_ON_HOST);
        return r;
}

CUresult hook_cuMemPoolDestroy(cuMemPoolDestroy_fn *real, CUmemoryPool pool)
{
        if (!limits_are_set())
                return real(pool);
        presence_enter();
        CUresult r = real(pool);
        if (r == CUDA_SUCCESS)
                pool_charge_destroy(pool);
        presence_leave();
        return r;
}

CUresult hook_cuMemPoolTrimTo(cuMemPoolTrimTo_fn *real, CUmemoryPool pool, size_t keep_bytes)
{
        if (!limits_are_set())
                return real(pool, keep_bytes);
        presence_enter();
        CUresult r = real(pool, keep_bytes);
        if (r == CUDA_SUCCESS)
                pool_charge_refresh(pool);
        presence_leave();
        return r;
}

CUresult hook_cuMemPoolSetAttribute(cuMemPoolSetAttribute_fn *real, CUmemoryPool pool,
                                    CUmemPool_attribute attribute, void *value)
{
        if (!limits_are_set())
                return real(pool, attribute, value);
        presence_enter();
        CUresult r = real(pool, attribute, value);
        if (r == CUDA_SUCCESS)
                pool_charge_refresh(pool);
        presence_leave();
        return r;
}
