/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: a part of a device's multiprocessors, with memory of its own. */
#include "batch.h"
#include "devices.h"
#include "library_charge.h"
#include "limits.h"
#include "measure.h"
#include "presence.h"
#include "virtual_heat.h"

static CUcontext context_of(CUgreenCtx green)
{
        CUcontext context = NULL;

        if (real_cuda.cuCtxFromGreenCtx)
                real_cuda.cuCtxFromGreenCtx(&context, green);
        return context;
}

CUresult hook_cuGreenCtxCreate(cuGreenCtxCreate_fn *real, CUgreenCtx *green, CUdevResourceDesc part,
                               CUdevice device, unsigned int flags)
{
        struct measure measure;
        CUresult r = measure_begin(&measure, device, 0);

        if (r != CUDA_SUCCESS)
                return r;
        CUresult result = real(green, part, device, flags);
        CUcontext context = result == CUDA_SUCCESS ? context_of(*green) : NULL;
        uint64_t key = (uint64_t)(uintptr_t)context;
        r = measure_end(&measure, result, key, key, HOLDING_CONTEXT);
        if (r == CUDA_SUCCESS && limits_are_set() && context)
                r = library_charge_context(context, device);
        if (result == CUDA_SUCCESS && r != CUDA_SUCCESS) {
                presence_enter();
                real_cuda.cuGreenCtxDestroy(*green);
                ledger_release_context(key);
                presence_leave();
                library_charge_context_gone(context);
        }
        return r;
}

CUresult hook_cuGreenCtxDestroy(cuGreenCtxDestroy_fn *real, CUgreenCtx green)
{
        if (!limits_are_set())
                return real(green);
        CUcontext context = context_of(green);
        batch_context_ends((uint64_t)(uintptr_t)context);
        virtual_heat_context_ends((uint64_t)(uintptr_t)context);
        presence_enter();
        CUresult r = real(green);
        devices_context_ended();
        meter_context_ended((uint64_t)(uintptr_t)context, r == CUDA_SUCCESS);
        if (r == CUDA_SUCCESS)
                ledger_release_context((uint64_t)(uintptr_t)context);
        presence_leave();
        if (r == CUDA_SUCCESS)
                library_charge_context_gone(context);
        return r;
}
