/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that hold graphs: child graphs and conditional nodes. */
#include <stdlib.h>

#include "graph.h"

enum { CONDITIONAL_BODIES = 64 };

static CUresult child_set(struct node *node, CUgraphNodeParams *params)
{
        struct graph *child = graph_get(params->graph.graph), *own = child;
        CUresult r = CUDA_SUCCESS;

        if (!child || child == node->graph || (unsigned)params->graph.ownership > 1)
                return CUDA_ERROR_INVALID_VALUE;
        if (params->graph.ownership == 0)
                r = graph_clone(child, &own);
        if (r != CUDA_SUCCESS)
                return r;
        graph_free(node->child);
        own->owner = node;
        node->child = own;
        return CUDA_SUCCESS;
}

static void child_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->graph.graph = (CUgraph)node->child;
}

static void child_done(struct node *node)
{
        graph_free(node->child);
}

/* Its nodes are launched instead of it (graph_exec.c). */
const struct node_kind node_kind_child = {
        .name = "GRAPH",
        .set = child_set,
        .get = child_get,
        .done = child_done,
};

static void conditional_done(struct node *node)
{
        for (unsigned i = 0; node->conditional.bodies && i < node->conditional.size; i++)
                graph_free(node->conditional.bodies[i]);
        free(node->conditional.bodies);
        node->conditional.bodies = NULL;
}

static CUresult conditional_take(struct node *node, const struct node_conditional *shape,
                                 struct graph *const *sources)
{
        struct node_conditional *conditional = &node->conditional;

        *conditional = *shape;
        conditional->bodies = calloc(shape->size, sizeof(struct graph *));
        if (!conditional->bodies)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (unsigned i = 0; i < shape->size; i++) {
                CUresult r = CUDA_SUCCESS;

                if (sources)
                        r = graph_clone(sources[i], &conditional->bodies[i]);
                else if (!(conditional->bodies[i] = graph_new()))
                        r = CUDA_ERROR_OUT_OF_MEMORY;
                if (r != CUDA_SUCCESS)
                        return r; /* the node frees what there is */
                conditional->bodies[i]->owner = node;
        }
        return CUDA_SUCCESS;
}

static bool handle_exists(const struct graph *graph, CUgraphConditionalHandle handle)
{
        for (size_t i = 0; i < graph->handles.count; i++) {
                if (((struct graph_handle *)vec_at(&graph->handles, i))->handle == handle)
                        return true;
        }
        return graph->owner && handle_exists(graph->owner->graph, handle);
}

static CUresult conditional_set(struct node *node, CUgraphNodeParams *params)
{
        CUDA_CONDITIONAL_NODE_PARAMS *conditional = &params->conditional;
        struct node_conditional shape = { conditional->handle, conditional->type, conditional->size,
                                          NULL };
        unsigned most = conditional->type == CU_GRAPH_COND_TYPE_SWITCH  ? CONDITIONAL_BODIES
                        : conditional->type == CU_GRAPH_COND_TYPE_WHILE ? 1
                                                                        : 2;
        CUresult r;

        /* Its bodies are made with it and stay. */
        if (node->conditional.bodies)
                return CUDA_ERROR_NOT_SUPPORTED;
        if ((unsigned)conditional->type > CU_GRAPH_COND_TYPE_SWITCH || !conditional->size ||
            conditional->size > most || !handle_exists(node->graph, conditional->handle))
                return CUDA_ERROR_INVALID_VALUE;
        r = conditional_take(node, &shape, NULL);
        if (r == CUDA_SUCCESS)
                conditional->phGraph_out = (CUgraph *)node->conditional.bodies;
        return r;
}

static void conditional_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
                .handle = node->conditional.handle,
                .type = node->conditional.type,
                .size = node->conditional.size,
                .phGraph_out = (CUgraph *)node->conditional.bodies,
                .ctx = (CUcontext)node->context,
        };
}

static CUresult conditional_copy(struct node *to, const struct node *from)
{
        conditional_done(to);
        return conditional_take(to, &from->conditional, from->conditional.bodies);
}

const struct node_kind node_kind_conditional = {
        .name = "CONDITIONAL",
        .set = conditional_set,
        .get = conditional_get,
        .copy = conditional_copy,
        .done = conditional_done,
};

CUresult sim_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph,
                                            CUcontext ctx, unsigned int defaultLaunchValue,
                                            unsigned int flags)
{
        static _Atomic uint64_t number;
        struct graph *graph = graph_get(hGraph);
        struct graph_handle handle;

        if (!graph || !pHandle_out || (flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) ||
            (ctx && !context_get(ctx)))
                return CUDA_ERROR_INVALID_VALUE;
        handle.handle = ++number;
        handle.value = flags & CU_GRAPH_COND_ASSIGN_DEFAULT ? defaultLaunchValue : 0;
        if (vec_push(&graph->handles, &handle) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *pHandle_out = handle.handle;
        return CUDA_SUCCESS;
}
