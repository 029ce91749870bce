/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: what they take is measured; what is held in one goes with it. */
#include "batch.h"
#include "context_charge.h"
#include "devices.h"
#include "library_charge.h"
#include "limits.h"
#include "presence.h"
#include "virtual_heat.h"

CUresult hook_cuCtxCreate(cuCtxCreate_fn *real, CUcontext *context, unsigned int flags,
                          CUdevice device)
{
        struct measure measure;

        batch_leave();
        CUresult r = context_charge_begin(&measure, device);
        return r != CUDA_SUCCESS
                       ? r
                       : context_charge_created(&measure, real(context, flags, device), context);
}

CUresult hook_cuCtxCreate_v2(cuCtxCreate_v2_fn *real, CUcontext *context, unsigned int flags,
                             CUdevice device)
{
        return hook_cuCtxCreate((cuCtxCreate_fn *)real, context, flags, device);
}

CUresult hook_cuCtxCreate_v3(cuCtxCreate_v3_fn *real, CUcontext *context,
                             CUexecAffinityParam *parameters, int count, unsigned int flags,
                             CUdevice device)
{
        struct measure measure;

        batch_leave();
        CUresult r = context_charge_begin(&measure, device);
        if (r != CUDA_SUCCESS)
                return r;
        return context_charge_created(&measure, real(context, parameters, count, flags, device),
                                      context);
}

CUresult hook_cuCtxCreate_v4(cuCtxCreate_v4_fn *real, CUcontext *context,
                             CUctxCreateParams *parameters, unsigned int flags, CUdevice device)
{
        struct measure measure;

        batch_leave();
        CUresult r = context_charge_begin(&measure, device);
        if (r != CUDA_SUCCESS)
                return r;
        return context_charge_created(&measure, real(context, parameters, flags, device), context);
}

/* What the context held goes with it, if the call has ended it. */
static CUresult context_end(CUcontext context, CUresult (*end)(CUcontext context),
                            bool (*is_gone)(CUcontext context))
{
        batch_context_ends((uint64_t)(uintptr_t)context);
        virtual_heat_context_ends((uint64_t)(uintptr_t)context);
        presence_enter();
        CUresult r = end(context);
        devices_context_ended();
        bool has_ended = r == CUDA_SUCCESS && is_gone(context);
        meter_context_ended((uint64_t)(uintptr_t)context, has_ended);
        if (has_ended && limits_are_set())
                ledger_release_context((uint64_t)(uintptr_t)context);
        presence_leave();
        if (has_ended)
                library_charge_context_gone(context);
        return r;
}

static bool gone_for_certain(CUcontext context)
{
        (void)context;
        return true;
}

/* One that was attached to more than once stays, and stays current. */
static bool gone_if_not_current(CUcontext context)
{
        CUcontext current = NULL;

        return real_cuda.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != context;
}

CUresult hook_cuCtxDestroy_v2(cuCtxDestroy_v2_fn *real, CUcontext context)
{
        return context_end(context, real, gone_for_certain);
}

CUresult hook_cuCtxDestroy(cuCtxDestroy_fn *real, CUcontext context)
{
        return context_end(context, real, gone_for_certain);
}

CUresult hook_cuCtxDetach(cuCtxDetach_fn *real, CUcontext context)
{
        return context_end(context, real, gone_if_not_current);
}

/* Two of the limits are sizes in bytes. */
static uint64_t limit_least(CUlimit limit, size_t before, size_t value)
{
        bool is_size = limit == CU_LIMIT_MALLOC_HEAP_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE;

        return is_size && value > before ? value - before : 0;
}

/* Heaps and buffers of a context are device memory. */
CUresult hook_cuCtxSetLimit(cuCtxSetLimit_fn *real, CUlimit limit, size_t value)
{
        struct target target = devices_current();
        struct measure measure;
        size_t before = 0;

        if (!target.context)
                return real(limit, value);
        real_cuda.cuCtxGetLimit(&before, limit);
        CUresult r = measure_begin(&measure, target.ordinal, limit_least(limit, before, value));
        if (r != CUDA_SUCCESS)
                return r;
        uint64_t key = (target.context << 8 | (uint64_t)limit) | UINT64_C(1) << 63;
        r = measure_end(&measure, real(limit, value), key, target.context, HOLDING_CONTEXT);
        if (r == CUDA_ERROR_OUT_OF_MEMORY &&
            measure_begin(&measure, target.ordinal, 0) == CUDA_SUCCESS)
                measure_end(&measure, real(limit, before), key, target.context, HOLDING_CONTEXT);
        return r;
}
