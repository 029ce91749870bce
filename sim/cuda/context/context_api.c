/* SPDX-License-Identifier: Apache-2.0 */
/* cuCtx*: contexts that a program makes, the thread's stack, limits and flags. */
#include <string.h>

#include "capture.h"
#include "context_life.h"
#include "memory.h"
#include "sim_cuda.h"
#include "sync_point.h"
#include "work.h"

static bool flags_are_valid(unsigned flags)
{
        unsigned schedule = flags & CU_CTX_SCHED_MASK;

        return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) &&
               (schedule == 0 || (schedule & (schedule - 1)) == 0);
}

static CUresult context_create(CUcontext *handle, unsigned flags, CUdevice ordinal,
                               unsigned version)
{
        struct device *device = driver_device(ordinal);

        if (!handle || !flags_are_valid(flags))
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        struct context *context = context_alloc(device, flags);
        if (!context)
                return CUDA_ERROR_OUT_OF_MEMORY;
        context->api_version = version;
        CUresult r = context_activate(context, context_bytes(device));
        if (r == CUDA_SUCCESS)
                r = context_push(context);
        if (r != CUDA_SUCCESS) {
                context_end(context);
                return r;
        }
        *handle = (CUcontext)context;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate(CUcontext *handle, unsigned flags, CUdevice device)
{
        return context_create(handle, flags, device, 3010);
}

CUresult sim_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device)
{
        return context_create(handle, flags, device, 3020);
}

static CUresult affinity_check(const CUexecAffinityParam *parameters, int count)
{
        if (count < 0 || (count > 0 && !parameters))
                return CUDA_ERROR_INVALID_VALUE;
        return count ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *parameters, int count,
                            unsigned flags, CUdevice device)
{
        CUresult r = affinity_check(parameters, count);

        return r != CUDA_SUCCESS ? r : context_create(handle, flags, device, 3020);
}

CUresult sim_cuCtxCreate_v4(CUcontext *handle, CUctxCreateParams *parameters, unsigned flags,
                            CUdevice device)
{
        if (parameters && parameters->cigParams)
                return CUDA_ERROR_NOT_SUPPORTED; /* needs a graphics client */
        CUresult r = parameters ? affinity_check(parameters->execAffinityParams,
                                                 parameters->numExecAffinityParams)
                                : CUDA_SUCCESS;
        return r != CUDA_SUCCESS ? r : context_create(handle, flags, device, 3020);
}

CUresult sim_cuCtxDestroy_v2(CUcontext handle)
{
        struct context *context = context_get(handle), *popped;

        if (!context)
                return handle ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
        if (context->is_primary || context->is_green)
                return CUDA_ERROR_INVALID_CONTEXT;
        if (context_current() == context)
                context_pop(&popped);
        context_end(context);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxDestroy(CUcontext handle)
{
        return sim_cuCtxDestroy_v2(handle);
}

CUresult sim_cuCtxAttach(CUcontext *handle, unsigned flags)
{
        if (!handle || flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context_current())
                return CUDA_ERROR_INVALID_CONTEXT;
        *handle = (CUcontext)context_current();
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxDetach(CUcontext handle)
{
        struct context *context = context_get(handle);

        if (!context || context != context_current())
                return CUDA_ERROR_INVALID_CONTEXT;
        return context->is_primary ? CUDA_ERROR_INVALID_CONTEXT : sim_cuCtxDestroy_v2(handle);
}

CUresult sim_cuCtxPushCurrent_v2(CUcontext handle)
{
        struct context *context = context_get(handle);

        return context ? context_push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuCtxPushCurrent(CUcontext handle)
{
        return sim_cuCtxPushCurrent_v2(handle);
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext *handle)
{
        struct context *context;
        CUresult r = context_pop(&context);

        if (r == CUDA_SUCCESS && handle)
                *handle = (CUcontext)context;
        return r;
}

CUresult sim_cuCtxPopCurrent(CUcontext *handle)
{
        return sim_cuCtxPopCurrent_v2(handle);
}

CUresult sim_cuCtxSetCurrent(CUcontext handle)
{
        struct context *context = NULL;

        if (handle) {
                context = context_get(handle);
                if (!context)
                        return CUDA_ERROR_INVALID_CONTEXT;
        }
        context_set_current(context);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCurrent(CUcontext *handle)
{
        if (!handle)
                return CUDA_ERROR_INVALID_VALUE;
        *handle = (CUcontext)context_current();
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetDevice(CUdevice *device)
{
        struct context *context = context_current();

        if (!device)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        *device = context->device->ordinal;
        return CUDA_SUCCESS;
}

/* The context that a call names, or the current one where it names none. */
static struct context *context_or_current(CUcontext handle)
{
        return handle ? context_get(handle) : context_current();
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
        struct context *context = context_or_current(handle);

        if (!device)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        *device = context->device->ordinal;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxSynchronize(void)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r == CUDA_SUCCESS)
                r = capture_forbids();
        if (r == CUDA_SUCCESS)
                r = context_wait(context);
        if (r == CUDA_SUCCESS)
                sync_point_reached();
        return r;
}

CUresult sim_cuCtxSynchronize_v2(CUcontext handle)
{
        struct context *context = context_or_current(handle);

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        return context->is_active ? context_wait(context) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult sim_cuCtxGetFlags(unsigned *flags)
{
        if (!flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context_current())
                return CUDA_ERROR_INVALID_CONTEXT;
        *flags = context_current()->flags;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetFlags(unsigned flags)
{
        if (!flags_are_valid(flags))
                return CUDA_ERROR_INVALID_VALUE;
        if (!context_current())
                return CUDA_ERROR_INVALID_CONTEXT;
        context_current()->flags = flags;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetId(CUcontext handle, unsigned long long *number)
{
        struct context *context = context_or_current(handle);

        if (!number)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        *number = context->number;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
        struct context *context = context_or_current(handle);

        if (!version)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        *version = context->api_version;
        return CUDA_SUCCESS;
}

static CUresult limit_check(CUlimit limit)
{
        if ((int)limit < 0 || limit >= CU_LIMIT_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        return limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE ? CUDA_SUCCESS
                                                          : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult sim_cuCtxGetLimit(size_t *value, CUlimit limit)
{
        struct context *context;
        CUresult r = value ? limit_check(limit) : CUDA_ERROR_INVALID_VALUE;

        /* CUDA in graphics can be asked about, and is off: cuBLAS 13 takes an error for no SMs. */
        if (r == CUDA_ERROR_UNSUPPORTED_LIMIT && limit >= CU_LIMIT_CIG_ENABLED)
                r = CUDA_SUCCESS;
        if (r == CUDA_SUCCESS)
                r = context_need(&context);
        if (r == CUDA_SUCCESS)
                *value = context->limits[limit];
        return r;
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
        struct context *context;
        CUresult r = limit_check(limit);

        if (r == CUDA_SUCCESS)
                r = context_need(&context);
        return r != CUDA_SUCCESS ? r : context_set_limit(context, limit, value);
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (least)
                *least = 0;
        if (greatest)
                *greatest = -5;
        return CUDA_SUCCESS;
}

/* Cache preferences are hints that the time model does not follow; they are kept and given back. */
CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *config)
{
        struct context *context;
        CUresult r = config ? context_need(&context) : CUDA_ERROR_INVALID_VALUE;

        if (r == CUDA_SUCCESS)
                *config = (CUfunc_cache)context->cache_config;
        return r;
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
        struct context *context;
        CUresult r = (unsigned)config <= 3 ? context_need(&context) : CUDA_ERROR_INVALID_VALUE;

        if (r == CUDA_SUCCESS)
                context->cache_config = (unsigned)config;
        return r;
}

CUresult sim_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
        struct context *context;
        CUresult r = config ? context_need(&context) : CUDA_ERROR_INVALID_VALUE;

        if (r == CUDA_SUCCESS)
                *config = (CUsharedconfig)1; /* four-byte banks, all that today's GPUs have */
        return r;
}

CUresult sim_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
        struct context *context;

        return (unsigned)config <= 2 ? context_need(&context) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuCtxResetPersistingL2Cache(void)
{
        struct context *context;

        return context_need(&context);
}

CUresult sim_cuCtxGetExecAffinity(CUexecAffinityParam *parameter, CUexecAffinityType type)
{
        struct context *context;
        CUresult r = parameter ? context_need(&context) : CUDA_ERROR_INVALID_VALUE;

        if (r != CUDA_SUCCESS)
                return r;
        if ((int)type != 0)
                return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
        parameter->type = 0;
        parameter->param.smCount.val = context->sm_count;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext handle, unsigned flags)
{
        struct context *context, *peer = context_get(handle);
        int can = 0;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (!peer || peer == context)
                return CUDA_ERROR_INVALID_CONTEXT;
        sim_cuDeviceCanAccessPeer(&can, context->device->ordinal, peer->device->ordinal);
        if (!can)
                return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
        uint64_t bit = UINT64_C(1) << peer->device->ordinal;
        if (context->peers & bit)
                return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
        context->peers |= bit;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext handle)
{
        struct context *context, *peer = context_get(handle);
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!peer)
                return CUDA_ERROR_INVALID_CONTEXT;
        uint64_t bit = UINT64_C(1) << peer->device->ordinal;
        if (!(context->peers & bit))
                return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
        context->peers &= ~bit;
        return CUDA_SUCCESS;
}
