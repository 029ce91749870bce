/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphAdd…Node and cuGraph…NodeGetParams/SetParams: each type's own structs, turned into the
 * general one and back. */
#include <string.h>

#include "graph.h"

static CUresult node_add(CUgraphNode *ret_handle, CUgraph handle, const CUgraphNode *before,
                         const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
        struct graph *graph = graph_get(handle);
        struct context *context;
        struct node *node;
        CUresult r;

        if (!ret_handle || !graph)
                return CUDA_ERROR_INVALID_VALUE;
        r = context_need(&context);
        if (r == CUDA_SUCCESS)
                r = node_new(graph, before, edges, count, params, &node);
        if (r == CUDA_SUCCESS)
                *ret_handle = (CUgraphNode)node;
        return r;
}

/* The node behind the handle if it is of this type. */
static struct node *node_of(CUgraphNode handle, CUgraphNodeType type)
{
        struct node *node = node_get(handle);

        return node && node->type == type ? node : NULL;
}

CUresult sim_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                               const CUgraphNode *dependencies,
                               const CUgraphEdgeData *dependencyData, size_t numDependencies,
                               CUgraphNodeParams *nodeParams)
{
        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        return node_add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies,
                        nodeParams);
}

CUresult sim_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                            const CUgraphNode *dependencies, size_t numDependencies,
                            CUgraphNodeParams *nodeParams)
{
        return sim_cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies,
                                     nodeParams);
}

CUresult sim_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
        struct node *node = node_get(hNode);

        return node && nodeParams ? node_set(node, nodeParams) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies,
                                     const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.kernel = *nodeParams;
        return node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
        CUDA_KERNEL_NODE_PARAMS params = { 0 };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&params, nodeParams, sizeof *nodeParams); /* the first version is its beginning */
        return sim_cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies,
                                           &params);
}

CUresult sim_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
        const struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_KERNEL);
        CUgraphNodeParams params;

        if (!node || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        node_params(node, &params);
        *nodeParams = params.kernel;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
        CUDA_KERNEL_NODE_PARAMS params;
        CUresult r = sim_cuGraphKernelNodeGetParams_v2(hNode, &params);

        if (r != CUDA_SUCCESS || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        if (!params.func)
                params.func = (CUfunction)params.kern;
        memcpy(nodeParams, &params, sizeof *nodeParams);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
        struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_KERNEL);
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

        if (!node || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.kernel = *nodeParams;
        return node_set(node, &params);
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
        CUDA_KERNEL_NODE_PARAMS params = { 0 };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&params, nodeParams, sizeof *nodeParams);
        return sim_cuGraphKernelNodeSetParams_v2(hNode, &params);
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

        if (!copyParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.memcpy = (CUDA_MEMCPY_NODE_PARAMS){ .copyCtx = ctx, .copyParams = *copyParams };
        return node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

CUresult sim_cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
        const struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
        CUgraphNodeParams params;

        if (!node || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        node_params(node, &params);
        *nodeParams = params.memcpy.copyParams;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
        struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

        if (!node || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.memcpy.copyParams = *nodeParams;
        return node_set(node, &params);
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

        if (!memsetParams)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&params.memset, memsetParams, sizeof *memsetParams);
        params.memset.ctx = ctx;
        return node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

CUresult sim_cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
        const struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_MEMSET);

        if (!node || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(nodeParams, &node->fill, sizeof *nodeParams);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
        struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_MEMSET);
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

        if (!node || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&params.memset, nodeParams, sizeof *nodeParams);
        return node_set(node, &params);
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                const CUDA_HOST_NODE_PARAMS *nodeParams)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_HOST };

        if (!nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.host = *nodeParams;
        return node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
        const struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_HOST);

        if (!node || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        *nodeParams = node->host;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
        struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_HOST);
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_HOST };

        if (!node || !nodeParams)
                return CUDA_ERROR_INVALID_VALUE;
        params.host = *nodeParams;
        return node_set(node, &params);
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      CUgraph childGraph)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

        params.graph.graph = childGraph;
        return node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
        const struct node *node = node_of(hNode, CU_GRAPH_NODE_TYPE_GRAPH);

        if (!node || !phGraph)
                return CUDA_ERROR_INVALID_VALUE;
        *phGraph = (CUgraph)node->child;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EMPTY };

        return node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params);
}
