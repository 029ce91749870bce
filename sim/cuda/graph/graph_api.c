/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraph*: graphs, their nodes and edges as a whole. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

CUresult sim_cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
        struct graph *graph;

        if (!phGraph || flags)
                return CUDA_ERROR_INVALID_VALUE;
        graph = graph_new();
        if (!graph)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *phGraph = (CUgraph)graph;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphDestroy(CUgraph hGraph)
{
        struct graph *graph = graph_get(hGraph);

        /* A child graph goes with its node. */
        if (!graph || graph->owner)
                return CUDA_ERROR_INVALID_VALUE;
        graph_free(graph);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
        struct graph *graph = graph_get(originalGraph), *clone;
        CUresult r;

        if (!graph || !phGraphClone)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < graph->nodes.count; i++) {
                /* The driver has no second owner for their memory and bodies. */
                CUgraphNodeType type = graph_node(graph, i)->type;

                if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
                    type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
                        return CUDA_ERROR_NOT_SUPPORTED;
        }
        r = graph_clone(graph, &clone);
        if (r == CUDA_SUCCESS)
                *phGraphClone = (CUgraph)clone;
        return r;
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                    CUgraph hClonedGraph)
{
        struct node *node = node_get(hOriginalNode);
        struct graph *clone = graph_get(hClonedGraph);
        struct node *found = node && clone ? graph_find(clone, node->number) : NULL;

        if (!phNode || !found)
                return CUDA_ERROR_INVALID_VALUE;
        *phNode = (CUgraphNode)found;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphDestroyNode(CUgraphNode hNode)
{
        struct node *node = node_get(hNode);

        if (!node)
                return CUDA_ERROR_INVALID_VALUE;
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
                return CUDA_ERROR_NOT_SUPPORTED;
        node_free(node);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
        struct node *node = node_get(hNode);

        if (!node || !type)
                return CUDA_ERROR_INVALID_VALUE;
        *type = node->type;
        return CUDA_SUCCESS;
}

/* How lists are answered: into `capacity` entries, the others NULL, and the count alone without any. */
static void list_end(CUgraphNode *list, size_t found, size_t *count)
{
        if (list) {
                for (size_t i = found; i < *count; i++)
                        list[i] = NULL;
                if (found > *count)
                        return;
        }
        *count = found;
}

CUresult sim_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
        struct graph *graph = graph_get(hGraph);

        if (!graph || !numNodes)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; nodes && i < graph->nodes.count && i < *numNodes; i++)
                nodes[i] = (CUgraphNode)graph_node(graph, i);
        list_end(nodes, graph->nodes.count, numNodes);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
        struct graph *graph = graph_get(hGraph);
        size_t found = 0;

        if (!graph || !numRootNodes)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < graph->nodes.count; i++) {
                if (graph_node(graph, i)->before.count)
                        continue;
                if (rootNodes && found < *numRootNodes)
                        rootNodes[found] = (CUgraphNode)graph_node(graph, i);
                found++;
        }
        list_end(rootNodes, found, numRootNodes);
        return CUDA_SUCCESS;
}

static bool edge_is_plain(const CUgraphEdgeData *data)
{
        return !data->from_port && !data->to_port && !data->type;
}

CUresult sim_cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                CUgraphEdgeData *edgeData, size_t *numEdges)
{
        struct graph *graph = graph_get(hGraph);
        size_t found = 0, capacity;

        if (!graph || !numEdges || !from != !to)
                return CUDA_ERROR_INVALID_VALUE;
        capacity = from ? *numEdges : 0;
        for (size_t i = 0; i < graph->nodes.count; i++) {
                struct node *node = graph_node(graph, i);

                for (size_t j = 0; j < node->after.count; j++, found++) {
                        const struct edge *edge = vec_at(&node->after, j);

                        if (from && !edgeData && !edge_is_plain(&edge->data))
                                return CUDA_ERROR_LOSSY_QUERY;
                        if (found >= capacity)
                                continue;
                        from[found] = (CUgraphNode)node;
                        to[found] = (CUgraphNode)edge->node;
                        if (edgeData)
                                edgeData[found] = edge->data;
                }
        }
        list_end(to, found, numEdges);
        for (size_t i = found; i < capacity; i++)
                from[i] = NULL;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
        return sim_cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

static CUresult list_edges(const struct vec *edges, CUgraphNode *nodes, CUgraphEdgeData *edge_data,
                           size_t *count)
{
        if (!count)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; nodes && i < edges->count && i < *count; i++) {
                const struct edge *edge = vec_at(edges, i);

                if (!edge_data && !edge_is_plain(&edge->data))
                        return CUDA_ERROR_LOSSY_QUERY;
                nodes[i] = (CUgraphNode)edge->node;
                if (edge_data)
                        edge_data[i] = edge->data;
        }
        list_end(nodes, edges->count, count);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
                                           CUgraphEdgeData *edgeData, size_t *numDependencies)
{
        struct node *node = node_get(hNode);

        return node ? list_edges(&node->before, dependencies, edgeData, numDependencies)
                    : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
                                        size_t *numDependencies)
{
        return sim_cuGraphNodeGetDependencies_v2(hNode, dependencies, NULL, numDependencies);
}

CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                             CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
        struct node *node = node_get(hNode);

        return node ? list_edges(&node->after, dependentNodes, edgeData, numDependentNodes)
                    : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                          size_t *numDependentNodes)
{
        return sim_cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, NULL, numDependentNodes);
}

/* Both ends of each edge, or INVALID_VALUE before anything is changed. */
static CUresult edges_check(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                            size_t count)
{
        struct graph *graph = graph_get(handle);

        if (!graph || (count && (!from || !to)))
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count; i++) {
                struct node *a = node_get(from[i]), *b = node_get(to[i]);

                if (!a || !b || a->graph != graph || b->graph != graph)
                        return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                       const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                       size_t numDependencies)
{
        CUresult r = edges_check(hGraph, from, to, numDependencies);

        for (size_t i = 0; r == CUDA_SUCCESS && i < numDependencies; i++)
                r = edge_add(node_get(from[i]), node_get(to[i]), edgeData ? &edgeData[i] : NULL);
        return r;
}

CUresult sim_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                    size_t numDependencies)
{
        return sim_cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                          const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                          size_t numDependencies)
{
        CUresult r = edges_check(hGraph, from, to, numDependencies);

        (void)edgeData; /* two nodes have one edge */
        for (size_t i = 0; r == CUDA_SUCCESS && i < numDependencies; i++)
                r = edge_remove(node_get(from[i]), node_get(to[i]));
        return r;
}

CUresult sim_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from,
                                       const CUgraphNode *to, size_t numDependencies)
{
        return sim_cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}
