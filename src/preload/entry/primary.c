/* SPDX-License-Identifier: Apache-2.0 */
/* Primary contexts: made by the first who retains them, gone with the last. */
#include "batch.h"
#include "context_charge.h"
#include "devices.h"
#include "library_charge.h"
#include "limits.h"
#include "presence.h"
#include "virtual_heat.h"

static bool is_active(CUdevice device)
{
        unsigned flags = 0;
        int active = 0;

        return real_cuda.cuDevicePrimaryCtxGetState &&
               real_cuda.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
               active;
}

static CUresult release(CUcontext context, CUdevice device)
{
        (void)context;
        return real_cuda.cuDevicePrimaryCtxRelease_v2(device);
}

CUresult hook_cuDevicePrimaryCtxRetain(cuDevicePrimaryCtxRetain_fn *real, CUcontext *context,
                                       CUdevice device)
{
        struct measure measure;

        if (!limits_are_set() || is_active(device))
                return real(context, device);
        batch_leave();
        CUresult r = context_charge_begin(&measure, device);
        if (r != CUDA_SUCCESS)
                return r;
        r = real(context, device);
        return context_charge_end(&measure, r, r == CUDA_SUCCESS ? *context : NULL, device,
                                  release);
}

/* What was held in the primary context goes when it does. It is current nowhere that matters: its
 * handle is asked for by retaining it once more, before. */
static CUresult end(CUresult (*real)(CUdevice), CUdevice device)
{
        CUcontext context = NULL;

        if (!limits_are_set() || !is_active(device))
                return real(device);
        presence_enter();
        if (real_cuda.cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS)
                real_cuda.cuDevicePrimaryCtxRelease_v2(device);
        batch_context_ends((uint64_t)(uintptr_t)context);
        virtual_heat_context_ends((uint64_t)(uintptr_t)context);
        CUresult r = real(device);
        devices_context_ended();
        bool is_gone = r == CUDA_SUCCESS && !is_active(device);
        meter_context_ended((uint64_t)(uintptr_t)context, is_gone);
        if (is_gone)
                ledger_release_context((uint64_t)(uintptr_t)context);
        presence_leave();
        if (is_gone)
                library_charge_context_gone(context);
        return r;
}

CUresult hook_cuDevicePrimaryCtxRelease(cuDevicePrimaryCtxRelease_fn *real, CUdevice device)
{
        return end(real, device);
}

CUresult hook_cuDevicePrimaryCtxRelease_v2(cuDevicePrimaryCtxRelease_v2_fn *real, CUdevice device)
{
        return end(real, device);
}

CUresult hook_cuDevicePrimaryCtxReset(cuDevicePrimaryCtxReset_fn *real, CUdevice device)
{
        return end(real, device);
}

CUresult hook_cuDevicePrimaryCtxReset_v2(cuDevicePrimaryCtxReset_v2_fn *real, CUdevice device)
{
        return end(real, device);
}
