/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: nodes, their dependencies, and what each kind of node holds. Like the driver's, these
 * objects are not locked: a caller uses a graph from one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch.h"
#include "sim_cuda.h"
#include "stream_event.h"
#include "vec.h"

#define GRAPH_MAGIC UINT32_C(0x68707267)
#define NODE_MAGIC  UINT32_C(0x65646f6e)

enum { GRAPH_NODE_TYPES = CU_GRAPH_NODE_TYPE_CONDITIONAL + 1 };

struct user_object;

struct edge {
        struct node *node;
        CUgraphEdgeData data;
};

struct node_kernel {
        struct launch launch; /* its params are the node's own */
        void **pointers;      /* one per parameter, for those who ask */
        bool is_kernel;       /* was given as CUkernel */
        int priority;
        CUaccessPolicyWindow window;
        CUlaunchMemSyncDomainMap domain_map;
        CUlaunchMemSyncDomain domain;
        CUclusterSchedulingPolicy policy;
        unsigned carveout;
};

struct graph_memory;

struct node_conditional {
        CUgraphConditionalHandle handle;
        CUgraphConditionalNodeType type;
        unsigned size;
        struct graph **bodies;
};

struct node {
        uint32_t magic;
        CUgraphNodeType type;
        struct graph *graph;
        struct context *context;  /* current when it was made, or as its params say */
        uint64_t number;          /* of all nodes of the process */
        uint64_t origin;          /* number of the node it was cloned from, 0: none */
        size_t index;             /* in its graph */
        struct vec before, after; /* of struct edge */
        bool is_disabled;         /* in an instance: does nothing */
        union {
                struct node_kernel kernel;
                CUDA_MEMCPY3D_PEER copy;
                CUDA_MEMSET_NODE_PARAMS_v2 fill;
                CUDA_HOST_NODE_PARAMS host;
                struct graph *child;
                struct event *event;
                struct {
                        CUDA_MEM_ALLOC_NODE_PARAMS params;
                        struct graph_memory *memory;
                } alloc;
                CUdeviceptr free;
                CUDA_BATCH_MEM_OP_NODE_PARAMS memop; /* paramArray is the node's own */
                struct node_conditional conditional;
        };
};

struct graph_handle { /* of conditional nodes */
        CUgraphConditionalHandle handle;
        unsigned value;
};

struct graph {
        uint32_t magic;
        uint64_t number;
        struct node *owner; /* the child or conditional node it belongs to */
        struct vec nodes;   /* of struct node *, in order of creation */
        struct vec objects; /* of struct graph_object */
        struct vec handles; /* of struct graph_handle */
};

struct graph_object {
        struct user_object *object;
        unsigned count;
};

/* What a kind of node can do. */
struct node_kind {
        const char *name;
        /* Takes the parameters; on failure the node is as before. May answer in *params. */
        CUresult (*set)(struct node *node, CUgraphNodeParams *params);
        void (*get)(const struct node *node, CUgraphNodeParams *ret_params);
        /* Beyond get and set; may be NULL. */
        CUresult (*copy)(struct node *to, const struct node *from);
        void (*done)(struct node *node); /* may be NULL */
        /* The work of the node; NULL: none. */
        CUresult (*submit)(struct node *node, struct stream *stream);
};
extern const struct node_kind node_kind_kernel, node_kind_copy, node_kind_fill, node_kind_host,
        node_kind_child, node_kind_empty, node_kind_wait, node_kind_record, node_kind_alloc,
        node_kind_free, node_kind_memop, node_kind_conditional;
/* NULL: not simulated. */
const struct node_kind *node_kind(CUgraphNodeType type);

struct graph *graph_new(void);
void graph_free(struct graph *graph); /* NULL is fine */
/* NULL: no living graph or node. */
struct graph *graph_get(CUgraph handle);
struct node *node_get(CUgraphNode handle);
static inline struct node *graph_node(const struct graph *graph, size_t index)
{
        return *(struct node **)vec_at(&graph->nodes, index);
}

/* A node with its dependencies (which must be of the graph; `edges` may be NULL). */
CUresult node_new(struct graph *graph, const CUgraphNode *before, const CUgraphEdgeData *edges,
                  size_t count, CUgraphNodeParams *params, struct node **ret_node);
/* Takes it out of its graph and frees it. */
void node_free(struct node *node);
CUresult node_set(struct node *node, CUgraphNodeParams *params);
void node_params(const struct node *node, CUgraphNodeParams *ret_params);
/* Gives `to`, of the same type, what `from` holds. */
CUresult node_assign(struct node *to, const struct node *from);

CUresult edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data);
/* NOT_FOUND, INVALID_VALUE when there is no such edge. */
CUresult edge_remove(struct node *from, struct node *to);

/* A copy whose nodes know their origins. Memory nodes name the same memory. */
CUresult graph_clone(const struct graph *graph, struct graph **ret_clone);
/* The node of the clone (or below it) that was cloned from `origin`. */
struct node *graph_find(const struct graph *graph, uint64_t origin);
/* Nodes so that each comes after its dependencies. INVALID_VALUE: there is a cycle. */
CUresult graph_order(const struct graph *graph, struct node ***ret_nodes);
/* Gives the nodes of `graph` what those of `source` hold, if both have one shape. */
CUgraphExecUpdateResult graph_update(struct graph *graph, const struct graph *source,
                                     CUgraphExecUpdateResultInfo *ret_info);

/* True: the graph's memory nodes may run now. `is_auto_free`: frees what is still in use. */
bool graph_memory_is_ready(const struct graph *graph, bool is_auto_free);

/* node_kernel.c: the parts that captures and attributes use. */
CUresult node_kernel_take(struct node *node, const struct launch *launch);
/* user_object.c */
void user_object_retain(struct user_object *object, unsigned count);
void user_object_release(struct user_object *object, unsigned count);
