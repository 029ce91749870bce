/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of graphs that order things: host functions, events, memory operations, nothing at all. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memop.h"

static CUresult host_set(struct node *node, CUgraphNodeParams *params)
{
        if (!params->host.fn)
                return CUDA_ERROR_INVALID_VALUE;
        node->host = params->host;
        return CUDA_SUCCESS;
}

static void host_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->host = node->host;
}

static CUresult host_submit(struct node *node, struct stream *stream)
{
        return work_submit_host(stream, node->host.fn, node->host.userData, NULL);
}

const struct node_kind node_kind_host = {
        .name = "HOST",
        .set = host_set,
        .get = host_get,
        .submit = host_submit,
};

static CUresult empty_set(struct node *node, CUgraphNodeParams *params)
{
        (void)node;
        (void)params;
        return CUDA_SUCCESS;
}

static void empty_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        (void)node;
        (void)ret_params;
}

const struct node_kind node_kind_empty = { .name = "EMPTY", .set = empty_set, .get = empty_get };

static CUresult event_set(struct node *node, CUgraphNodeParams *params)
{
        struct event *event = event_get(params->eventRecord.event);

        if (!event)
                return CUDA_ERROR_INVALID_HANDLE;
        node->event = event;
        return CUDA_SUCCESS;
}

static void event_params(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->eventRecord.event = (CUevent)node->event;
}

static CUresult record_submit(struct node *node, struct stream *stream)
{
        return event_record(node->event, stream);
}

static CUresult wait_submit(struct node *node, struct stream *stream)
{
        return event_join(node->event, stream);
}

const struct node_kind node_kind_record = {
        .name = "EVENT_RECORD",
        .set = event_set,
        .get = event_params,
        .submit = record_submit,
};

const struct node_kind node_kind_wait = {
        .name = "EVENT_WAIT",
        .set = event_set,
        .get = event_params,
        .submit = wait_submit,
};

static CUresult memop_set(struct node *node, CUgraphNodeParams *params)
{
        const CUDA_BATCH_MEM_OP_NODE_PARAMS *memop = &params->memOp;
        struct context *context = memop->ctx ? context_get(memop->ctx) : node->context;
        CUstreamBatchMemOpParams *ops;
        CUresult r = memop_check(memop->paramArray, memop->count);

        if (r != CUDA_SUCCESS)
                return r;
        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        ops = malloc((memop->count ? memop->count : 1) * sizeof *ops);
        if (!ops)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (memop->count)
                memcpy(ops, memop->paramArray, memop->count * sizeof *ops);
        free(node->memop.paramArray);
        node->memop = *memop;
        node->memop.paramArray = ops;
        node->memop.ctx = (CUcontext)context;
        node->context = context;
        return CUDA_SUCCESS;
}

static void memop_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->memOp = node->memop;
}

static void memop_done(struct node *node)
{
        free(node->memop.paramArray);
}

static CUresult memop_node_submit(struct node *node, struct stream *stream)
{
        return memop_submit(stream, node->memop.paramArray, node->memop.count);
}

const struct node_kind node_kind_memop = {
        .name = "BATCH_MEM_OP",
        .set = memop_set,
        .get = memop_get,
        .done = memop_done,
        .submit = memop_node_submit,
};
