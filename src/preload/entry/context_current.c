/* The current context, as far as compute is limited: the null stream is its own, and what a thread
 * has submitted there is measured before it turns to another. */
#include "lane.h"
#include "real.h"

static void turn_to(CUcontext context)
{
        if (lane_context() != (uint64_t)(uintptr_t)context)
                lane_leave();
}

CUresult hook_cuCtxSetCurrent(cuCtxSetCurrent_fn *real, CUcontext context)
{
        turn_to(context);
        return real(context);
}

CUresult hook_cuCtxPushCurrent_v2(cuCtxPushCurrent_v2_fn *real, CUcontext context)
{
        turn_to(context);
        return real(context);
}

CUresult hook_cuCtxPushCurrent(cuCtxPushCurrent_fn *real, CUcontext context)
{
        return hook_cuCtxPushCurrent_v2((cuCtxPushCurrent_v2_fn *)real, context);
}

CUresult hook_cuCtxPopCurrent_v2(cuCtxPopCurrent_v2_fn *real, CUcontext *context)
{
        lane_leave();
        return real(context);
}

CUresult hook_cuCtxPopCurrent(cuCtxPopCurrent_fn *real, CUcontext *context)
{
        return hook_cuCtxPopCurrent_v2((cuCtxPopCurrent_v2_fn *)real, context);
}

CUresult hook_cuCtxSynchronize(cuCtxSynchronize_fn *real)
{
        lane_end_all(devices_current().context);
        CUresult r = real();
        lane_harvest();
        return r;
}

CUresult hook_cuCtxSynchronize_v2(cuCtxSynchronize_v2_fn *real, CUcontext context)
{
        lane_end_all((uint64_t)(uintptr_t)context);
        CUresult r = real(context);
        lane_harvest();
        return r;
}
