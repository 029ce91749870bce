/* SPDX-License-Identifier: Apache-2.0 */
/* Copy and fill nodes of graphs. */
#include <string.h>

#include "copy.h"
#include "graph.h"

static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER), "one layout but for contexts");

static CUresult context_of(const struct node *node, CUcontext handle, struct context **ret_context)
{
        struct context *context = handle ? context_get(handle) : node->context;

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        *ret_context = context;
        return CUDA_SUCCESS;
}

static CUresult copy_set(struct node *node, CUgraphNodeParams *params)
{
        struct context *context;
        CUDA_MEMCPY3D_PEER copy;
        CUresult r = context_of(node, params->memcpy.copyCtx, &context);

        if (r != CUDA_SUCCESS)
                return r;
        memcpy(&copy, &params->memcpy.copyParams, sizeof copy);
        copy.srcContext = copy.dstContext = (CUcontext)context;
        r = copy_check(&copy);
        if (r != CUDA_SUCCESS)
                return r;
        node->copy = copy;
        node->context = context;
        return CUDA_SUCCESS;
}

static void copy_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->memcpy.copyCtx = (CUcontext)node->context;
        memcpy(&ret_params->memcpy.copyParams, &node->copy, sizeof node->copy);
        ret_params->memcpy.copyParams.reserved0 = NULL;
        ret_params->memcpy.copyParams.reserved1 = NULL;
}

/* Not by its parameters: a captured copy between two contexts has more than they say. */
static CUresult copy_copy(struct node *to, const struct node *from)
{
        to->copy = from->copy;
        return CUDA_SUCCESS;
}

static CUresult copy_node_submit(struct node *node, struct stream *stream)
{
        return copy_submit(stream, &node->copy, NULL);
}

const struct node_kind node_kind_copy = {
        .name = "MEMCPY",
        .set = copy_set,
        .get = copy_get,
        .copy = copy_copy,
        .submit = copy_node_submit,
};

static CUresult fill_set(struct node *node, CUgraphNodeParams *params)
{
        const CUDA_MEMSET_NODE_PARAMS_v2 *fill = &params->memset;
        struct context *context;
        CUresult r = context_of(node, fill->ctx, &context);

        if (r == CUDA_SUCCESS &&
            (fill->elementSize != 1 && fill->elementSize != 2 && fill->elementSize != 4))
                r = CUDA_ERROR_INVALID_VALUE;
        if (r == CUDA_SUCCESS && (!fill->width || !fill->height))
                r = CUDA_ERROR_INVALID_VALUE;
        if (r == CUDA_SUCCESS)
                r = fill_check(fill->dst, fill->pitch, fill->elementSize, fill->width,
                               fill->height);
        if (r != CUDA_SUCCESS)
                return r;
        node->fill = *fill;
        node->fill.ctx = (CUcontext)context;
        node->context = context;
        return CUDA_SUCCESS;
}

static void fill_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->memset = node->fill;
}

static CUresult fill_copy(struct node *to, const struct node *from)
{
        to->fill = from->fill;
        return CUDA_SUCCESS;
}

static CUresult fill_node_submit(struct node *node, struct stream *stream)
{
        const CUDA_MEMSET_NODE_PARAMS_v2 *fill = &node->fill;

        return fill_submit(stream, fill->dst, fill->pitch, fill->value, fill->elementSize,
                           fill->width, fill->height, NULL);
}

const struct node_kind node_kind_fill = {
        .name = "MEMSET",
        .set = fill_set,
        .get = fill_get,
        .copy = fill_copy,
        .submit = fill_node_submit,
};
