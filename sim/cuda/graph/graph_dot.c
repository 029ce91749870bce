/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphDebugDotPrint: a graph as a drawing for graphviz. */
#include <stdio.h>

#include "graph.h"

static void print_label(FILE *file, const struct node *node, unsigned flags)
{
        fprintf(file, "%zu %s", node->index, node_kind(node->type)->name);
        if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
                const struct launch *launch = &node->kernel.launch;

                fprintf(file, "\\n%s\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", launch->function->name,
                        launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                        launch->block[1], launch->block[2], launch->shared_bytes);
        }
        if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY)
                fprintf(file, "\\n%zu x %zu x %zu bytes", node->copy.WidthInBytes,
                        node->copy.Height, node->copy.Depth);
        if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
                fprintf(file, "\\n%p", (const void *)node);
}

static void print_graph(FILE *file, const struct graph *graph, unsigned flags)
{
        fprintf(file, "subgraph cluster_%llu {\nlabel=\"graph_%llu\"\n",
                (unsigned long long)graph->number, (unsigned long long)graph->number);
        for (size_t i = 0; i < graph->nodes.count; i++) {
                const struct node *node = graph_node(graph, i);

                fprintf(file, "\"node_%llu\" [shape=\"%s\" label=\"",
                        (unsigned long long)node->number,
                        node->type == CU_GRAPH_NODE_TYPE_KERNEL ? "octagon" : "rectangle");
                print_label(file, node, flags);
                fputs("\"];\n", file);
                for (size_t j = 0; j < node->after.count; j++) {
                        const struct edge *edge = vec_at(&node->after, j);

                        fprintf(file, "\"node_%llu\" -> \"node_%llu\";\n",
                                (unsigned long long)node->number,
                                (unsigned long long)edge->node->number);
                }
                if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
                        print_graph(file, node->child, flags);
                for (unsigned j = 0;
                     node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && j < node->conditional.size;
                     j++)
                        print_graph(file, node->conditional.bodies[j], flags);
        }
        fputs("}\n", file);
}

CUresult sim_cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
        struct graph *graph = graph_get(hGraph);
        FILE *file;
        int failed;

        if (!graph || !path || (flags & ~(unsigned)CU_GRAPH_DEBUG_DOT_FLAGS_ALL))
                return CUDA_ERROR_INVALID_VALUE;
        file = fopen(path, "we");
        if (!file)
                return CUDA_ERROR_OPERATING_SYSTEM;
        fputs("digraph dot {\n", file);
        print_graph(file, graph, flags);
        fputs("}\n", file);
        failed = ferror(file);
        if (fclose(file) || failed)
                return CUDA_ERROR_OPERATING_SYSTEM;
        return CUDA_SUCCESS;
}
