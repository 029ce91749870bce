/* Nodes that allocate, and the pool of what graphs have freed. */
#include "graph_account.h"
#include "limits.h"
#include "presence.h"

CUresult hook_cuGraphAddMemAllocNode(cuGraphAddMemAllocNode_fn *real, CUgraphNode *node,
                                     CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                     CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
        struct graph_charge charge;
        struct graph_need need = { 0 };

        if (params && limits_are_set())
                graph_need_one(&need, params->poolProps.location.id, params->bytesize);
        CUresult r = graph_account_admit_node(&need, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        return graph_account_settle(&charge, real(node, graph, dependencies, count, params));
}

CUresult hook_cuDeviceGraphMemTrim(cuDeviceGraphMemTrim_fn *real, CUdevice device)
{
        if (!limits_are_set())
                return real(device);
        presence_enter();
        CUresult r = real(device);
        graph_account_refresh();
        presence_leave();
        return r;
}
