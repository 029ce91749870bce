/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that allocate, and the pool of what graphs have freed. */
#include "graph_charge.h"
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
        CUresult r = graph_charge_admit_node(&need, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        return graph_charge_settle(&need, &charge, real(node, graph, dependencies, count, params));
}

CUresult hook_cuDeviceGraphMemTrim(cuDeviceGraphMemTrim_fn *real, CUdevice device)
{
        if (!limits_are_set())
                return real(device);
        presence_enter();
        CUresult r = real(device);
        graph_charge_refresh();
        presence_leave();
        return r;
}
