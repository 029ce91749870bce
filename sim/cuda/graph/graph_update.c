/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphExecUpdate: an instance takes over the contents of a graph of its own shape. */
#include <string.h>

#include "graph_exec.h"
#include "scope.h"

static CUgraphExecUpdateResult fail(CUgraphExecUpdateResultInfo *info,
                                    CUgraphExecUpdateResult result, const struct node *node,
                                    const struct node *from)
{
        info->result = result;
        info->errorNode = (CUgraphNode)(uintptr_t)node;
        info->errorFromNode = (CUgraphNode)(uintptr_t)from;
        return result;
}

/* The edges into both nodes come from nodes in the same positions. */
static bool edges_match(const struct node *a, const struct node *b)
{
        if (a->before.count != b->before.count)
                return false;
        for (size_t i = 0; i < a->before.count; i++) {
                const struct edge *x = vec_at(&a->before, i), *y = vec_at(&b->before, i);

                if (x->node->index != y->node->index)
                        return false;
        }
        return true;
}

static CUgraphExecUpdateResult check_node(const struct node *own, const struct node *node,
                                          CUgraphExecUpdateResultInfo *info);

static CUgraphExecUpdateResult check_graph(const struct graph *graph, const struct graph *source,
                                           CUgraphExecUpdateResultInfo *info)
{
        CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

        if (graph->nodes.count != source->nodes.count)
                return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
        for (size_t i = 0; !result && i < graph->nodes.count; i++)
                result = check_node(graph_node(graph, i), graph_node(source, i), info);
        return result;
}

static CUgraphExecUpdateResult check_node(const struct node *own, const struct node *node,
                                          CUgraphExecUpdateResultInfo *info)
{
        if (own->type != node->type)
                return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node, NULL);
        if (!edges_match(own, node))
                return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node, NULL);
        switch (own->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
                if (own->context != node->context)
                        return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE,
                                    node, NULL);
                break;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
                if (own->copy.srcMemoryType != node->copy.srcMemoryType ||
                    own->copy.dstMemoryType != node->copy.dstMemoryType)
                        return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, node,
                                    NULL);
                break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
                return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, node, NULL);
        case CU_GRAPH_NODE_TYPE_GRAPH:
                return check_graph(own->child, node->child, info);
        default:
                break;
        }
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* A child keeps its own nodes: the instance's steps name them. */
static CUresult take_over(struct graph *graph, const struct graph *source)
{
        CUresult r = CUDA_SUCCESS;

        for (size_t i = 0; r == CUDA_SUCCESS && i < graph->nodes.count; i++) {
                struct node *own = graph_node(graph, i);
                const struct node *node = graph_node(source, i);

                r = own->type == CU_GRAPH_NODE_TYPE_GRAPH ? take_over(own->child, node->child)
                                                          : node_assign(own, node);
        }
        return r;
}

CUgraphExecUpdateResult graph_update(struct graph *graph, const struct graph *source,
                                     CUgraphExecUpdateResultInfo *ret_info)
{
        memset(ret_info, 0, sizeof *ret_info);
        if (check_graph(graph, source, ret_info) == CU_GRAPH_EXEC_UPDATE_SUCCESS &&
            take_over(graph, source) != CUDA_SUCCESS)
                fail(ret_info, CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL);
        return ret_info->result;
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                  CUgraphExecUpdateResultInfo *resultInfo)
{
        struct exec *exec = exec_get(hGraphExec);
        struct graph *graph = graph_get(hGraph);

        if (!exec || !graph || !resultInfo)
                return CUDA_ERROR_INVALID_VALUE;

        autounlock pthread_mutex_t *held = scope_lock(&exec->lock);
        return graph_update(exec->graph, graph, resultInfo) == CU_GRAPH_EXEC_UPDATE_SUCCESS
                       ? CUDA_SUCCESS
                       : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult sim_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                               CUgraphExecUpdateResult *updateResult_out)
{
        CUgraphExecUpdateResultInfo info = { 0 };
        CUresult r;

        if (!hErrorNode_out || !updateResult_out)
                return CUDA_ERROR_INVALID_VALUE;
        r = sim_cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
        *hErrorNode_out = info.errorNode;
        *updateResult_out = info.result;
        return r;
}
