/* Primary contexts: made by the first who retains them, gone with the last. */
#include "devices.h"
#include "limits.h"
#include "measure.h"
#include "presence.h"
#include "real.h"

static bool is_active(CUdevice device)
{
        unsigned flags = 0;
        int active = 0;

        return real_cuda.cuDevicePrimaryCtxGetState
               && real_cuda.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS
               && active;
}

CUresult hook_cuDevicePrimaryCtxRetain(cuDevicePrimaryCtxRetain_fn *real, CUcontext *context,
                                       CUdevice device)
{
        int account = devices_account(device);
        struct measure measure = { 0 };
        bool is_exempt = account >= 0 && limits_context_is_exempt((unsigned)account);

        if (!limits_are_set() || is_active(device) || is_exempt)
                return real(context, device);
        CUresult r = measure_begin(&measure, device, 0);
        if (r != CUDA_SUCCESS)
                return r;
        CUresult result = real(context, device);
        uint64_t key = result == CUDA_SUCCESS ? (uint64_t)(uintptr_t)*context : 0;
        r = measure_end(&measure, result, key, key, HOLDING_CONTEXT);
        if (result == CUDA_SUCCESS && r != CUDA_SUCCESS) {
                real_cuda.cuDevicePrimaryCtxRelease_v2(device);
                ledger_release_context(key);
        }
        return r;
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
        CUresult r = real(device);
        if (r == CUDA_SUCCESS && !is_active(device))
                ledger_release_context((uint64_t)(uintptr_t)context);
        presence_leave();
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
