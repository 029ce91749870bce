/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphInstantiate*, and cuGraphExec*SetParams: instances made and changed. */
#include <string.h>

#include "graph_exec.h"
#include "scope.h"

enum {
        INSTANTIATE_FLAGS = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                            CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                            CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                            CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY
};

static CUresult instantiate(CUgraphExec *ret_handle, CUgraph handle, uint64_t flags)
{
        struct graph *graph = graph_get(handle);
        struct context *context;
        struct exec *exec;
        CUresult r;

        if (!ret_handle || !graph || (flags & ~(uint64_t)INSTANTIATE_FLAGS))
                return CUDA_ERROR_INVALID_VALUE;
        /* A launch from the device is nothing the simulator has. */
        if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
                return CUDA_ERROR_NOT_SUPPORTED;
        r = context_need(&context);
        if (r == CUDA_SUCCESS)
                r = exec_new(graph, flags, &exec);
        if (r == CUDA_SUCCESS)
                *ret_handle = (CUgraphExec)exec;
        return r;
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
                                   CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
        if (phErrorNode)
                *phErrorNode = NULL;
        if (logBuffer && bufferSize)
                *logBuffer = '\0';
        return instantiate(phGraphExec, hGraph, 0);
}

CUresult sim_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                                char *logBuffer, size_t bufferSize)
{
        return sim_cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                         unsigned long long flags)
{
        return instantiate(phGraphExec, hGraph, flags);
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                          CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
        CUresult r;

        if (!instantiateParams)
                return CUDA_ERROR_INVALID_VALUE;
        instantiateParams->hErrNode_out = NULL;
        r = instantiate(phGraphExec, hGraph, instantiateParams->flags);
        instantiateParams->result_out =
                r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                : r == CUDA_ERROR_NOT_SUPPORTED
                        ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
                : graph_get(hGraph) ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                    : CUDA_GRAPH_INSTANTIATE_ERROR;
        return r;
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      CUgraphNodeParams *nodeParams)
{
        struct exec *exec = exec_get(hGraphExec);
        struct node *node = exec ? exec_find(exec, hNode) : NULL;

        if (!node || !nodeParams || node->type != nodeParams->type)
                return CUDA_ERROR_INVALID_VALUE;

        autounlock pthread_mutex_t *held = scope_lock(&exec->lock);
        if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) {
                CUgraphExecUpdateResultInfo info;
                struct graph *child = graph_get(nodeParams->graph.graph);

                if (!child ||
                    graph_update(node->child, child, &info) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
                        return CUDA_ERROR_INVALID_VALUE;
                return CUDA_SUCCESS;
        }
        return node_set(node, nodeParams);
}

CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                               const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.kernel = *nodeParams;
        return sim_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
        CUDA_KERNEL_NODE_PARAMS params = { 0 };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&params, nodeParams, sizeof *nodeParams);
        return sim_cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, &params);
}

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

        if (!copyParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.memcpy = (CUDA_MEMCPY_NODE_PARAMS){ .copyCtx = ctx, .copyParams = *copyParams };
        return sim_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                            CUcontext ctx)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

        if (!memsetParams)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&params.memset, memsetParams, sizeof *memsetParams);
        params.memset.ctx = ctx;
        return sim_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          const CUDA_HOST_NODE_PARAMS *nodeParams)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_HOST };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.host = *nodeParams;
        return sim_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                CUgraph childGraph)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

        params.graph.graph = childGraph;
        return sim_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                CUevent event)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

        params.eventRecord.event = event;
        return sim_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              CUevent event)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

        params.eventWait.event = event;
        return sim_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult sim_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.memOp = *nodeParams;
        return sim_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

/* The nodes that can be switched off. */
static struct node *switchable(CUgraphExec exec_handle, CUgraphNode handle)
{
        struct exec *exec = exec_get(exec_handle);
        struct node *node = exec ? exec_find(exec, handle) : NULL;

        if (!node ||
            (node->type != CU_GRAPH_NODE_TYPE_KERNEL && node->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
             node->type != CU_GRAPH_NODE_TYPE_MEMSET))
                return NULL;
        return node;
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                   unsigned int isEnabled)
{
        struct node *node = switchable(hGraphExec, hNode);

        if (!node)
                return CUDA_ERROR_INVALID_VALUE;
        node->is_disabled = !isEnabled;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                   unsigned int *isEnabled)
{
        const struct node *node = switchable(hGraphExec, hNode);

        if (!node || !isEnabled)
                return CUDA_ERROR_INVALID_VALUE;
        *isEnabled = !node->is_disabled;
        return CUDA_SUCCESS;
}
