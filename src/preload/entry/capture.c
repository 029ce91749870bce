/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that ends may take its graph, and the graph's memory, with it. */
#include "graph_charge.h"
#include "limits.h"
#include "presence.h"

CUresult hook_cuStreamEndCapture(cuStreamEndCapture_fn *real, CUstream stream, CUgraph *graph)
{
        if (!limits_are_set())
                return real(stream, graph);
        presence_enter();
        CUresult r = real(stream, graph);
        if (r != CUDA_SUCCESS)
                graph_charge_refresh();
        presence_leave();
        return r;
}
