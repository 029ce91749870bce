/* SPDX-License-Identifier: Apache-2.0 */
/* The same for nodes of events, memory and memory operations. */
#include "graph.h"

static struct node *node_of(CUgraphNode handle, CUgraphNodeType type)
{
        struct node *node = node_get(handle);

        return node && node->type == type ? node : NULL;
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                       const CUgraphNode *dependencies, size_t numDependencies,
                                       CUevent event)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

        params.eventRecord.event = event;
        return sim_cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies,
                                     CUevent event)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

        params.eventWait.event = event;
        return sim_cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

static CUresult event_of(CUgraphNode handle, CUgraphNodeType type, CUevent *ret_event)
{
        const struct node *node = node_of(handle, type);

        if (!node || !ret_event)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_event = (CUevent)node->event;
        return CUDA_SUCCESS;
}

static CUresult event_change(CUgraphNode handle, CUgraphNodeType type, CUevent event)
{
        CUgraphNodeParams params = { .type = type };

        params.eventRecord.event = event;
        return sim_cuGraphNodeSetParams(handle, &params);
}

CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
        return event_of(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
        return event_change(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
        return event_of(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
        return event_change(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult sim_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies,
                                    CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
        CUresult r;

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.alloc = *nodeParams;
        r = sim_cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
        if (r == CUDA_SUCCESS)
                nodeParams->dptr = params.alloc.dptr;
        return r;
}

CUresult sim_cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
        const struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC);

        if (!node || !params_out)
                return CUDA_ERROR_INVALID_VALUE;
        *params_out = node->alloc.params;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   CUdeviceptr dptr)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };

        params.free.dptr = dptr;
        return sim_cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult sim_cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
        const struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE);

        if (!node || !dptr_out)
                return CUDA_ERROR_INVALID_VALUE;
        *dptr_out = node->free;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.memOp = *nodeParams;
        return sim_cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult sim_cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                            CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
        const struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);

        if (!node || !nodeParams_out)
                return CUDA_ERROR_INVALID_VALUE;
        *nodeParams_out = node->memop;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.memOp = *nodeParams;
        return sim_cuGraphNodeSetParams(hNode, &params);
}
