/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as objects: nodes, edges, copies, order. */
#include "graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "scope.h"

static _Atomic uint64_t graph_number;

const struct node_kind *node_kind(CUgraphNodeType type)
{
        static const struct node_kind *const kinds[GRAPH_NODE_TYPES] = {
                [CU_GRAPH_NODE_TYPE_KERNEL] = &node_kind_kernel,
                [CU_GRAPH_NODE_TYPE_MEMCPY] = &node_kind_copy,
                [CU_GRAPH_NODE_TYPE_MEMSET] = &node_kind_fill,
                [CU_GRAPH_NODE_TYPE_HOST] = &node_kind_host,
                [CU_GRAPH_NODE_TYPE_GRAPH] = &node_kind_child,
                [CU_GRAPH_NODE_TYPE_EMPTY] = &node_kind_empty,
                [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = &node_kind_wait,
                [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = &node_kind_record,
                [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = &node_kind_alloc,
                [CU_GRAPH_NODE_TYPE_MEM_FREE] = &node_kind_free,
                [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = &node_kind_memop,
                [CU_GRAPH_NODE_TYPE_CONDITIONAL] = &node_kind_conditional,
        };

        return (unsigned)type < GRAPH_NODE_TYPES ? kinds[type] : NULL;
}

struct graph *graph_new(void)
{
        struct graph *graph = calloc(1, sizeof *graph);

        if (!graph)
                return NULL;
        graph->magic = GRAPH_MAGIC;
        graph->number = ++graph_number;
        graph->nodes = (struct vec)VEC_OF(struct node *);
        graph->objects = (struct vec)VEC_OF(struct graph_object);
        graph->handles = (struct vec)VEC_OF(struct graph_handle);
        return graph;
}

static void node_destroy(struct node *node)
{
        const struct node_kind *kind = node_kind(node->type);

        if (kind->done)
                kind->done(node);
        vec_done(&node->before);
        vec_done(&node->after);
        node->magic = 0;
        free(node);
}

void graph_free(struct graph *graph)
{
        if (!graph)
                return;
        for (size_t i = 0; i < graph->nodes.count; i++)
                node_destroy(graph_node(graph, i));
        for (size_t i = 0; i < graph->objects.count; i++) {
                struct graph_object *object = vec_at(&graph->objects, i);

                user_object_release(object->object, object->count);
        }
        vec_done(&graph->nodes);
        vec_done(&graph->objects);
        vec_done(&graph->handles);
        graph->magic = 0;
        free(graph);
}

struct graph *graph_get(CUgraph handle)
{
        struct graph *graph = (struct graph *)handle;

        return graph && graph->magic == GRAPH_MAGIC ? graph : NULL;
}

struct node *node_get(CUgraphNode handle)
{
        struct node *node = (struct node *)handle;

        return node && node->magic == NODE_MAGIC ? node : NULL;
}

static size_t edge_find(const struct vec *edges, const struct node *node)
{
        size_t i = 0;

        while (i < edges->count && ((struct edge *)vec_at(edges, i))->node != node)
                i++;
        return i;
}

CUresult edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data)
{
        struct edge forward = { .node = to }, backward = { .node = from };

        if (from == to || from->graph != to->graph ||
            edge_find(&to->before, from) < to->before.count)
                return CUDA_ERROR_INVALID_VALUE;
        if (data)
                forward.data = backward.data = *data;
        if (vec_push(&from->after, &forward) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (vec_push(&to->before, &backward) < 0) {
                vec_remove(&from->after, from->after.count - 1);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        return CUDA_SUCCESS;
}

CUresult edge_remove(struct node *from, struct node *to)
{
        size_t i = edge_find(&to->before, from);

        if (i == to->before.count)
                return CUDA_ERROR_INVALID_VALUE;
        vec_remove(&to->before, i);
        vec_remove(&from->after, edge_find(&from->after, to));
        return CUDA_SUCCESS;
}

void node_free(struct node *node)
{
        struct graph *graph = node->graph;

        while (node->before.count)
                edge_remove(((struct edge *)vec_at(&node->before, 0))->node, node);
        while (node->after.count)
                edge_remove(node, ((struct edge *)vec_at(&node->after, 0))->node);
        vec_remove(&graph->nodes, node->index);
        for (size_t i = node->index; i < graph->nodes.count; i++)
                graph_node(graph, i)->index = i;
        node_destroy(node);
}

static CUresult node_attach(struct graph *graph, CUgraphNodeType type, struct node **ret_node)
{
        struct node *node = calloc(1, sizeof *node);

        if (!node)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *node = (struct node){
                .magic = NODE_MAGIC,
                .type = type,
                .graph = graph,
                .context = context_current(),
                .number = ++graph_number,
                .index = graph->nodes.count,
                .before = VEC_OF(struct edge),
                .after = VEC_OF(struct edge),
        };
        if (vec_push(&graph->nodes, &node) < 0) {
                free(node);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *ret_node = node;
        return CUDA_SUCCESS;
}

CUresult node_new(struct graph *graph, const CUgraphNode *before, const CUgraphEdgeData *edges,
                  size_t count, CUgraphNodeParams *params, struct node **ret_node)
{
        const struct node_kind *kind = node_kind(params->type);
        struct node *node;
        CUresult r;

        if (!kind)
                return (unsigned)params->type < GRAPH_NODE_TYPES ? CUDA_ERROR_NOT_SUPPORTED
                                                                 : CUDA_ERROR_INVALID_VALUE;
        if (count && !before)
                return CUDA_ERROR_INVALID_VALUE;
        r = node_attach(graph, params->type, &node);
        for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
                struct node *from = node_get(before[i]);

                r = from ? edge_add(from, node, edges ? &edges[i] : NULL)
                         : CUDA_ERROR_INVALID_VALUE;
                if (r != CUDA_SUCCESS)
                        node_free(node);
        }
        if (r != CUDA_SUCCESS)
                return r;
        r = kind->set(node, params);
        if (r != CUDA_SUCCESS)
                node_free(node);
        else
                *ret_node = node;
        return r;
}

CUresult node_set(struct node *node, CUgraphNodeParams *params)
{
        if (params->type != node->type)
                return CUDA_ERROR_INVALID_VALUE;
        return node_kind(node->type)->set(node, params);
}

void node_params(const struct node *node, CUgraphNodeParams *ret_params)
{
        memset(ret_params, 0, sizeof *ret_params);
        ret_params->type = node->type;
        node_kind(node->type)->get(node, ret_params);
}

CUresult node_assign(struct node *to, const struct node *from)
{
        const struct node_kind *kind = node_kind(to->type);
        CUgraphNodeParams params;
        CUresult r;

        to->context = from->context;
        if (kind->copy)
                return kind->copy(to, from);
        node_params(from, &params);
        r = kind->set(to, &params);
        to->context = from->context;
        return r;
}

static CUresult clone_edges(const struct graph *graph, struct graph *clone)
{
        for (size_t i = 0; i < graph->nodes.count; i++) {
                const struct node *node = graph_node(graph, i);

                for (size_t j = 0; j < node->before.count; j++) {
                        const struct edge *edge = vec_at(&node->before, j);
                        CUresult r = edge_add(graph_node(clone, edge->node->index),
                                              graph_node(clone, i), &edge->data);

                        if (r != CUDA_SUCCESS)
                                return r;
                }
        }
        return CUDA_SUCCESS;
}

static CUresult clone_objects(const struct graph *graph, struct graph *clone)
{
        for (size_t i = 0; i < graph->objects.count; i++) {
                const struct graph_object *object = vec_at(&graph->objects, i);

                if (vec_push(&clone->objects, object) < 0)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                user_object_retain(object->object, object->count);
        }
        for (size_t i = 0; i < graph->handles.count; i++) {
                if (vec_push(&clone->handles, vec_at(&graph->handles, i)) < 0)
                        return CUDA_ERROR_OUT_OF_MEMORY;
        }
        return CUDA_SUCCESS;
}

CUresult graph_clone(const struct graph *graph, struct graph **ret_clone)
{
        struct graph *clone = graph_new();
        CUresult r = clone ? clone_objects(graph, clone) : CUDA_ERROR_OUT_OF_MEMORY;

        for (size_t i = 0; r == CUDA_SUCCESS && i < graph->nodes.count; i++) {
                const struct node *from = graph_node(graph, i);
                struct node *to;

                r = node_attach(clone, from->type, &to);
                if (r != CUDA_SUCCESS)
                        break;
                to->origin = from->number;
                r = node_assign(to, from);
        }
        if (r == CUDA_SUCCESS)
                r = clone_edges(graph, clone);
        if (r == CUDA_SUCCESS)
                *ret_clone = clone;
        else
                graph_free(clone);
        return r;
}

/* The graphs inside a node: the bodies of a conditional, or the child. */
static size_t node_bodies(const struct node *node, struct graph *const **ret_bodies)
{
        if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) {
                *ret_bodies = &node->child;
                return node->child != NULL;
        }
        *ret_bodies = node->conditional.bodies;
        return node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? node->conditional.size : 0;
}

struct node *graph_find(const struct graph *graph, uint64_t origin)
{
        for (size_t i = 0; i < graph->nodes.count; i++) {
                struct node *node = graph_node(graph, i);
                struct graph *const *bodies;
                size_t count = node_bodies(node, &bodies);

                if (node->origin == origin)
                        return node;
                for (size_t j = 0; j < count; j++) {
                        struct node *found = graph_find(bodies[j], origin);

                        if (found)
                                return found;
                }
        }
        return NULL;
}

CUresult graph_order(const struct graph *graph, struct node ***ret_nodes)
{
        size_t count = graph->nodes.count, done = 0, found = 0;
        autofree struct node **nodes = calloc(count + 1, sizeof *nodes);
        autofree size_t *missing = calloc(count + 1, sizeof *missing);

        if (!nodes || !missing)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; i < count; i++) {
                missing[i] = graph_node(graph, i)->before.count;
                if (!missing[i])
                        nodes[found++] = graph_node(graph, i);
        }
        for (; done < found; done++) {
                for (size_t i = 0; i < nodes[done]->after.count; i++) {
                        struct node *next = ((struct edge *)vec_at(&nodes[done]->after, i))->node;

                        if (!--missing[next->index])
                                nodes[found++] = next;
                }
        }
        if (found < count)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_nodes = steal(nodes);
        return CUDA_SUCCESS;
}
