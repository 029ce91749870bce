/* SPDX-License-Identifier: Apache-2.0 */
/* The current context, as far as compute is limited: the null stream is its own, and what a thread
 * has submitted there is measured before it switches to another. */
#include "batch.h"
#include "real.h"

static void switch_to(CUcontext context)
{
        if (batch_context() != (uint64_t)(uintptr_t)context)
                batch_leave();
}

CUresult hook_cuCtxSetCurrent(cuCtxSetCurrent_fn *real, CUcontext context)
{
        switch_to(context);
        return real(context);
}

CUresult hook_cuCtxPushCurrent_v2(cuCtxPushCurrent_v2_fn *real, CUcontext context)
{
        switch_to(context);
        return real(context);
}

CUresult hook_cuCtxPushCurrent(cuCtxPushCurrent_fn *real, CUcontext context)
{
        return hook_cuCtxPushCurrent_v2((cuCtxPushCurrent_v2_fn *)real, context);
}

CUresult hook_cuCtxPopCurrent_v2(cuCtxPopCurrent_v2_fn *real, CUcontext *context)
{
        batch_leave();
        return real(context);
}

CUresult hook_cuCtxPopCurrent(cuCtxPopCurrent_fn *real, CUcontext *context)
{
        return hook_cuCtxPopCurrent_v2((cuCtxPopCurrent_v2_fn *)real, context);
}

CUresult hook_cuCtxSynchronize(cuCtxSynchronize_fn *real)
{
        batch_end_all(devices_current().context);
        CUresult r = real();
        batch_harvest();
        return r;
}

CUresult hook_cuCtxSynchronize_v2(cuCtxSynchronize_v2_fn *real, CUcontext context)
{
        batch_end_all((uint64_t)(uintptr_t)context);
        CUresult r = real(context);
        batch_harvest();
        return r;
}
