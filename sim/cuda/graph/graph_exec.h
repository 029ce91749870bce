/* SPDX-License-Identifier: Apache-2.0 */
/* Instances of graphs: what is launched. */
#pragma once

#include <pthread.h>

#include "graph.h"

#define EXEC_MAGIC UINT32_C(0x63657865)

/* A node in its position, or (node NULL) the beginning or end of a graph within the graph. */
struct exec_step {
        struct node *node;
        unsigned branch;
        bool is_joined; /* a step on another branch waits for it */
        size_t *joins;  /* steps of other branches that it waits for */
        size_t join_count;
        struct mark mark; /* during a launch, if is_joined */
};

/* A stream of the instance. Branch 0 is the stream it is launched in, where that is possible. */
struct exec_branch {
        struct context *context;
        struct stream *stream; /* made on first use … */
        uint64_t number;       /* … and with this number: it goes with its context */
        size_t tail;           /* the newest step on it */
};

static inline bool branch_has_stream(const struct exec_branch *branch)
{
        return branch->stream && branch->stream->magic == STREAM_MAGIC &&
               branch->stream->number == branch->number;
}

struct exec_index {
        uint64_t origin;
        struct node *node;
};

struct exec {
        uint32_t magic;
        uint64_t flags;       /* CUgraphInstantiate_flags */
        struct graph *graph;  /* its own copy */
        struct vec steps;     /* of struct exec_step, in an order that can be launched */
        struct vec branches;  /* of struct exec_branch */
        struct vec index;     /* of struct exec_index, sorted */
        bool has_memory;      /* there are memory nodes */
        struct stream *last;  /* launched there before: launches do not overlap */
        pthread_mutex_t lock; /* one launch or change at a time */
};

/* NULL: no living instance. */
struct exec *exec_get(CUgraphExec handle);
CUresult exec_new(const struct graph *graph, uint64_t flags, struct exec **ret_exec);
void exec_free(struct exec *exec);
/* The instance's own node for a node of the graph it was made from; NULL: none. */
struct node *exec_find(const struct exec *exec, CUgraphNode handle);
