/* SPDX-License-Identifier: Apache-2.0 */
/* Events, as far as compute is limited. */
#include "batch.h"
#include "real.h"

/* Whichever stream it was recorded in: the thread will hardly submit more before it is reached. */
CUresult hook_cuEventSynchronize(cuEventSynchronize_fn *real, CUevent event)
{
        batch_end_all(devices_current().context);
        CUresult r = real(event);
        batch_harvest();
        return r;
}

CUresult hook_cuStreamWaitEvent(cuStreamWaitEvent_fn *real, CUstream stream, CUevent event,
                                unsigned int flags)
{
        batch_part_by_event(batch_stream(stream, real == real_cuda.cuStreamWaitEvent_ptsz));
        return real(stream, event, flags);
}

CUresult hook_cuIpcOpenEventHandle(cuIpcOpenEventHandle_fn *real, CUevent *event,
                                   CUipcEventHandle handle)
{
        batch_has_outer_events();
        return real(event, handle);
}

CUresult hook_cuEventQuery(cuEventQuery_fn *real, CUevent event)
{
        const CUresult r = real(event);

        if (r == CUDA_ERROR_NOT_READY)
                batch_wait_begins();
        else if (r == CUDA_SUCCESS)
                batch_harvest();
        return r;
}
