/* SPDX-License-Identifier: Apache-2.0 */
/* How an instance runs: nodes in order, each on a branch, with the joins between branches. */
#include <stdlib.h>
#include <string.h>

#include "graph_exec.h"
#include "scope.h"

enum { BRANCHES = 8 };
#define STEP_NONE SIZE_MAX

/* What a step waits for while the plan is made. */
struct steps {
        size_t *items;
        size_t count;
};

static struct exec_step *step_at(const struct exec *exec, size_t index)
{
        return vec_at(&exec->steps, index);
}

static struct exec_branch *branch_at(const struct exec *exec, size_t index)
{
        return vec_at(&exec->branches, index);
}

/* A branch whose newest step is one of those waited for goes on; else a new one, while there are few. */
static CUresult branch_pick(struct exec *exec, struct context *context, const struct steps *before,
                            unsigned *ret_branch)
{
        struct exec_branch branch = { .context = context, .tail = STEP_NONE };

        for (size_t i = 0; i < before->count; i++) {
                unsigned candidate = step_at(exec, before->items[i])->branch;

                if (branch_at(exec, candidate)->tail != before->items[i])
                        continue;
                branch.context = branch_at(exec, candidate)->context;
                if (context && context != branch.context)
                        continue;
                *ret_branch = candidate;
                return CUDA_SUCCESS;
        }
        if (context)
                branch.context = context;
        else if (!branch.context)
                branch.context = context_current();
        for (size_t i = 0; exec->branches.count >= BRANCHES && i < exec->branches.count; i++) {
                size_t next = (exec->steps.count + i) % exec->branches.count;

                if (branch_at(exec, next)->context != branch.context)
                        continue;
                *ret_branch = (unsigned)next;
                return CUDA_SUCCESS;
        }
        *ret_branch = (unsigned)exec->branches.count;
        return vec_push(&exec->branches, &branch) < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult step_add(struct exec *exec, struct node *node, const struct steps *before,
                         size_t *ret_step)
{
        struct exec_step step = { .node = node };
        size_t number = exec->steps.count;
        CUresult r = branch_pick(exec, node ? node->context : NULL, before, &step.branch);

        if (r != CUDA_SUCCESS)
                return r;
        step.joins = calloc(before->count + 1, sizeof *step.joins);
        if (!step.joins)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; i < before->count; i++) {
                struct exec_step *earlier = step_at(exec, before->items[i]);

                if (earlier->branch == step.branch)
                        continue;
                earlier->is_joined = true;
                step.joins[step.join_count++] = before->items[i];
        }
        if (vec_push(&exec->steps, &step) < 0) {
                free(step.joins);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        branch_at(exec, step.branch)->tail = number;
        *ret_step = number;
        return CUDA_SUCCESS;
}

static unsigned handle_value(const struct graph *graph, CUgraphConditionalHandle handle)
{
        for (size_t i = 0; i < graph->handles.count; i++) {
                const struct graph_handle *found = vec_at(&graph->handles, i);

                if (found->handle == handle)
                        return found->value;
        }
        return graph->owner ? handle_value(graph->owner->graph, handle) : 0;
}

/* The graph that runs instead of the node; NULL: none. */
static struct graph *node_body(const struct node *node)
{
        const struct node_conditional *conditional = &node->conditional;
        unsigned value, chosen;

        if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
                return node->child;
        if (node->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
                return NULL;
        value = handle_value(node->graph, conditional->handle);
        chosen = conditional->type == CU_GRAPH_COND_TYPE_SWITCH ? value : !value;
        if (conditional->type == CU_GRAPH_COND_TYPE_WHILE && value)
                driver_say(
                        "a graph's while node runs its body once: no kernel can change its value");
        return chosen < conditional->size ? conditional->bodies[chosen] : NULL;
}

static CUresult plan_graph(struct exec *exec, const struct graph *graph, size_t entry,
                           struct steps *ret_ends);

/* A node with a graph inside is its beginning, its nodes and its end. */
static CUresult plan_body(struct exec *exec, const struct graph *body, const struct steps *before,
                          size_t *ret_step)
{
        struct steps ends = { NULL, 0 };
        size_t begin;
        CUresult r = step_add(exec, NULL, before, &begin);

        if (r == CUDA_SUCCESS)
                r = plan_graph(exec, body, begin, &ends);
        if (r == CUDA_SUCCESS)
                r = ends.count ? step_add(exec, NULL, &ends, ret_step) : CUDA_SUCCESS;
        if (r == CUDA_SUCCESS && !ends.count)
                *ret_step = begin;
        free(ends.items);
        return r;
}

static CUresult plan_node(struct exec *exec, struct node *node, size_t entry, const size_t *done,
                          size_t *ret_step)
{
        size_t count = node->before.count;
        autofree size_t *items = calloc(count + 1, sizeof *items);
        struct steps before = { items, count };
        const struct graph *body;

        if (!items)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; i < count; i++)
                items[i] = done[((struct edge *)vec_at(&node->before, i))->node->index];
        if (!count && entry != STEP_NONE)
                items[before.count++] = entry;
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
                exec->has_memory = true;
        body = node_body(node);
        return body ? plan_body(exec, body, &before, ret_step)
                    : step_add(exec, node, &before, ret_step);
}

static CUresult plan_graph(struct exec *exec, const struct graph *graph, size_t entry,
                           struct steps *ret_ends)
{
        size_t count = graph->nodes.count;
        autofree struct node **order = NULL;
        autofree size_t *done = calloc(count + 1, sizeof *done);
        CUresult r = done ? graph_order(graph, &order) : CUDA_ERROR_OUT_OF_MEMORY;

        for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++)
                r = plan_node(exec, order[i], entry, done, &done[order[i]->index]);
        if (r != CUDA_SUCCESS)
                return r;
        ret_ends->items = calloc(count + 1, sizeof *ret_ends->items);
        if (!ret_ends->items)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; i < count; i++) {
                if (!graph_node(graph, i)->after.count)
                        ret_ends->items[ret_ends->count++] = done[i];
        }
        return CUDA_SUCCESS;
}

static void plan_clear(struct exec *exec)
{
        for (size_t i = 0; i < exec->steps.count; i++)
                free(step_at(exec, i)->joins);
        for (size_t i = 0; i < exec->branches.count; i++) {
                if (branch_has_stream(branch_at(exec, i)))
                        stream_free(branch_at(exec, i)->stream);
        }
        vec_done(&exec->steps);
        vec_done(&exec->branches);
}

static int index_compare(const void *a, const void *b)
{
        uint64_t x = ((const struct exec_index *)a)->origin,
                 y = ((const struct exec_index *)b)->origin;

        return (x > y) - (x < y);
}

static CUresult index_graph(struct exec *exec, const struct graph *graph)
{
        for (size_t i = 0; i < graph->nodes.count; i++) {
                struct node *node = graph_node(graph, i);
                CUresult r = CUDA_SUCCESS;

                if (vec_push(&exec->index, &(struct exec_index){ node->origin, node }) < 0)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
                        r = index_graph(exec, node->child);
                if (node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
                        for (unsigned j = 0; r == CUDA_SUCCESS && j < node->conditional.size; j++)
                                r = index_graph(exec, node->conditional.bodies[j]);
                }
                if (r != CUDA_SUCCESS)
                        return r;
        }
        return CUDA_SUCCESS;
}

/* Lays out the steps again: needed when conditional values or children changed. */
static CUresult exec_plan(struct exec *exec)
{
        struct steps ends = { NULL, 0 };
        CUresult r;

        plan_clear(exec);
        exec->index.count = 0;
        r = plan_graph(exec, exec->graph, STEP_NONE, &ends);
        free(ends.items);
        if (r == CUDA_SUCCESS)
                r = index_graph(exec, exec->graph);
        if (r == CUDA_SUCCESS && exec->index.count)
                qsort(exec->index.items, exec->index.count, sizeof(struct exec_index),
                      index_compare);
        return r;
}

struct node *exec_find(const struct exec *exec, CUgraphNode handle)
{
        const struct node *node = node_get(handle);
        struct exec_index key, *found;

        if (!node || !exec->index.count)
                return NULL;
        key.origin = node->number;
        found = bsearch(&key, exec->index.items, exec->index.count, sizeof key, index_compare);
        return found ? found->node : NULL;
}

CUresult exec_new(const struct graph *graph, uint64_t flags, struct exec **ret_exec)
{
        struct exec *exec = calloc(1, sizeof *exec);
        CUresult r;

        if (!exec)
                return CUDA_ERROR_OUT_OF_MEMORY;
        exec->magic = EXEC_MAGIC;
        exec->flags = flags;
        exec->steps = (struct vec)VEC_OF(struct exec_step);
        exec->branches = (struct vec)VEC_OF(struct exec_branch);
        exec->index = (struct vec)VEC_OF(struct exec_index);
        pthread_mutex_init(&exec->lock, NULL);
        r = graph_clone(graph, &exec->graph);
        if (r == CUDA_SUCCESS)
                r = exec_plan(exec);
        if (r == CUDA_SUCCESS)
                *ret_exec = exec;
        else
                exec_free(exec);
        return r;
}

void exec_free(struct exec *exec)
{
        plan_clear(exec);
        vec_done(&exec->index);
        graph_free(exec->graph);
        pthread_mutex_destroy(&exec->lock);
        exec->magic = 0;
        free(exec);
}
