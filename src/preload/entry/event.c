/* Events, as far as compute is limited. */
#include "lane.h"
#include "real.h"

/* Whichever stream it was recorded in: the thread will hardly submit more before it is reached. */
CUresult hook_cuEventSynchronize(cuEventSynchronize_fn *real, CUevent event)
{
        lane_end_all(devices_current().context);
        CUresult r = real(event);
        lane_harvest();
        return r;
}
