/* A capture that ends may take its graph, and the graph's memory, with it. */
#include "graph_account.h"
#include "limits.h"

CUresult hook_cuStreamEndCapture(cuStreamEndCapture_fn *real, CUstream stream, CUgraph *graph)
{
        CUresult r = real(stream, graph);

        if (r != CUDA_SUCCESS && limits_are_set())
                graph_account_refresh();
        return r;
}
