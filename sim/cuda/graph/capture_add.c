/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: the calls that become nodes. */
#include "capture_session.h"

#include <string.h>

#include "scope.h"

/* The lock is held. The new node is what the stream's next one comes after. */
static CUresult add_locked(struct stream *stream, CUgraphNodeParams *params, struct node **ret_node)
{
        struct capture *capture = stream->capture;
        struct node *node;
        CUresult r;

        if (!capture || capture->session->is_invalid)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        r = node_new(capture->session->graph, capture->nodes.items, capture->edges.items,
                     capture->nodes.count, params, &node);
        if (r != CUDA_SUCCESS) {
                capture->session->is_invalid = true;
                return r;
        }
        node->context = stream->context;
        capture->nodes.count = capture->edges.count = 0;
        *ret_node = node;
        return capture_depend(capture, &node, NULL, 1);
}

CUresult capture_add(struct stream *stream, CUgraphNodeParams *params)
{
        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        struct node *node;

        return add_locked(stream, params, &node);
}

/* Kernels and copies hold more than parameters say: an empty node first, then its contents. */
static CUresult add_as(struct stream *stream, CUgraphNodeType type, struct node **ret_node)
{
        CUgraphNodeParams empty = { .type = CU_GRAPH_NODE_TYPE_EMPTY };
        CUresult r = add_locked(stream, &empty, ret_node);

        if (r == CUDA_SUCCESS)
                (*ret_node)->type = type;
        return r;
}

CUresult capture_add_kernel(struct stream *stream, const struct launch *launch)
{
        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        struct node *node;
        CUresult r = add_as(stream, CU_GRAPH_NODE_TYPE_KERNEL, &node);

        if (r != CUDA_SUCCESS)
                return r;
        node->kernel.priority = stream->priority;
        r = node_kernel_take(node, launch);
        if (r == CUDA_SUCCESS)
                return r;
        node->type = CU_GRAPH_NODE_TYPE_EMPTY;
        stream->capture->session->is_invalid = true;
        return r;
}

CUresult capture_add_copy(struct stream *stream, const CUDA_MEMCPY3D_PEER *copy)
{
        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        struct node *node;
        CUresult r = add_as(stream, CU_GRAPH_NODE_TYPE_MEMCPY, &node);

        if (r == CUDA_SUCCESS)
                node->copy = *copy;
        return r;
}

CUresult capture_add_fill(struct stream *stream, CUdeviceptr to, size_t pitch, unsigned value,
                          unsigned element_bytes, size_t width, size_t height)
{
        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        struct node *node;
        CUresult r = add_as(stream, CU_GRAPH_NODE_TYPE_MEMSET, &node);

        if (r == CUDA_SUCCESS)
                node->fill = (CUDA_MEMSET_NODE_PARAMS_v2){
                        .dst = to,
                        .pitch = pitch,
                        .value = value,
                        .elementSize = element_bytes,
                        .width = width,
                        .height = height,
                        .ctx = (CUcontext)stream->context,
                };
        return r;
}

CUresult capture_add_host(struct stream *stream, CUhostFn function, void *closure)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_HOST };

        params.host = (CUDA_HOST_NODE_PARAMS){ function, closure };
        return capture_add(stream, &params);
}

CUresult capture_add_alloc(struct stream *stream, struct pool *pool, size_t bytes, CUdeviceptr *ret)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
        CUresult r;

        (void)pool; /* graphs take memory of their own, whatever pool was named */
        params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        params.alloc.poolProps.location.id = stream->context->device->ordinal;
        params.alloc.bytesize = bytes;
        r = capture_add(stream, &params);
        if (r == CUDA_SUCCESS)
                *ret = params.alloc.dptr;
        return r;
}

CUresult capture_add_free(struct stream *stream, CUdeviceptr address)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };

        params.free.dptr = address;
        return capture_add(stream, &params);
}

CUresult capture_add_memops(struct stream *stream, CUstreamBatchMemOpParams *ops, unsigned count)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };

        params.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = (CUcontext)stream->context,
                                                        .count = count,
                                                        .paramArray = ops };
        return capture_add(stream, &params);
}

CUresult capture_add_graph(struct stream *stream, struct graph *graph)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

        params.graph.graph = (CUgraph)graph;
        return capture_add(stream, &params);
}
