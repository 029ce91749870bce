/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel nodes of graphs, and their attributes. */
#include <stdlib.h>
#include <string.h>

#include "function_handle.h"
#include "graph.h"

/* How the arguments are given back: one by one, or as a whole when nothing describes them. */
static void **kernel_pointers(const struct launch *launch, unsigned char *bytes)
{
        const struct function *function = launch->function;
        void **pointers = calloc(function->parameter_count + 5, sizeof *pointers);

        if (!pointers)
                return NULL;
        if (function->parameter_count) {
                for (unsigned i = 0; i < function->parameter_count; i++)
                        pointers[i] = bytes + function->parameters[i].offset;
                return pointers;
        }
        pointers[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
        pointers[1] = bytes;
        pointers[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
        pointers[4] = CU_LAUNCH_PARAM_END;
        return pointers;
}

static void kernel_done(struct node *node)
{
        free((void *)(uintptr_t)node->kernel.launch.params);
        free(node->kernel.pointers);
        node->kernel.launch.params = NULL;
        node->kernel.pointers = NULL;
}

CUresult node_kernel_take(struct node *node, const struct launch *launch)
{
        /* An `extra` buffer may be shorter than what the parameters reach. */
        size_t described = launch->function->parameter_bytes;
        size_t size = launch->params_size > described ? launch->params_size : described;
        unsigned char *bytes = calloc(1, size ? size : 1);
        void **pointers = bytes ? kernel_pointers(launch, bytes) : NULL;

        if (!pointers) {
                free(bytes);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (launch->params_size)
                memcpy(bytes, launch->params, launch->params_size);
        kernel_done(node);
        node->kernel.launch = *launch;
        node->kernel.launch.params = bytes;
        node->kernel.launch.params_size = size;
        node->kernel.pointers = pointers;
        if (!launch->function->parameter_count)
                pointers[3] = &node->kernel.launch.params_size;
        return CUDA_SUCCESS;
}

static CUresult kernel_set(struct node *node, CUgraphNodeParams *params)
{
        const CUDA_KERNEL_NODE_PARAMS *kernel = &params->kernel;
        struct context *context = kernel->ctx ? context_get(kernel->ctx) : node->context;
        struct launch launch = node->kernel.launch; /* attributes stay */
        struct launch_buffer buffer;
        CUresult r;

        launch.function = function_get(kernel->func ? kernel->func : (CUfunction)kernel->kern);
        if (!launch.function)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        memcpy(launch.grid, &kernel->gridDimX, sizeof launch.grid);
        memcpy(launch.block, &kernel->blockDimX, sizeof launch.block);
        launch.shared_bytes = kernel->sharedMemBytes;
        r = launch_check(context, &launch);
        if (r != CUDA_SUCCESS)
                return r;
        launch_buffer_init(&buffer);
        r = launch_set_params(&launch, kernel->kernelParams, kernel->extra, &buffer);
        if (r == CUDA_SUCCESS)
                r = node_kernel_take(node, &launch);
        launch_buffer_done(&buffer);
        if (r != CUDA_SUCCESS)
                return r;
        node->context = context;
        node->kernel.is_kernel = !kernel->func;
        return CUDA_SUCCESS;
}

static void kernel_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        const struct node_kernel *kernel = &node->kernel;
        CUDA_KERNEL_NODE_PARAMS *params = &ret_params->kernel;

        if (kernel->is_kernel)
                params->kern = (CUkernel)kernel->launch.function;
        else
                params->func = (CUfunction)kernel->launch.function;
        memcpy(&params->gridDimX, kernel->launch.grid, sizeof kernel->launch.grid);
        memcpy(&params->blockDimX, kernel->launch.block, sizeof kernel->launch.block);
        params->sharedMemBytes = kernel->launch.shared_bytes;
        params->ctx = (CUcontext)node->context;
        if (kernel->launch.function->parameter_count)
                params->kernelParams = kernel->pointers;
        else if (kernel->launch.params_size)
                params->extra = kernel->pointers;
}

static CUresult kernel_copy(struct node *to, const struct node *from)
{
        CUresult r = node_kernel_take(to, &from->kernel.launch);

        if (r != CUDA_SUCCESS)
                return r;
        to->kernel.is_kernel = from->kernel.is_kernel;
        to->kernel.priority = from->kernel.priority;
        to->kernel.window = from->kernel.window;
        to->kernel.domain_map = from->kernel.domain_map;
        to->kernel.domain = from->kernel.domain;
        to->kernel.policy = from->kernel.policy;
        to->kernel.carveout = from->kernel.carveout;
        return CUDA_SUCCESS;
}

static CUresult kernel_submit(struct node *node, struct stream *stream)
{
        return launch_submit(stream, &node->kernel.launch, NULL);
}

const struct node_kind node_kind_kernel = {
        .name = "KERNEL",
        .set = kernel_set,
        .get = kernel_get,
        .copy = kernel_copy,
        .done = kernel_done,
        .submit = kernel_submit,
};

static struct node *kernel_node(CUgraphNode handle)
{
        struct node *node = node_get(handle);

        return node && node->type == CU_GRAPH_NODE_TYPE_KERNEL ? node : NULL;
}

CUresult sim_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                           CUkernelNodeAttrValue *value_out)
{
        const struct node *node = kernel_node(hNode);
        CUkernelNodeAttrValue value = { .pad = { 0 } };

        if (!node || !value_out)
                return CUDA_ERROR_INVALID_VALUE;
        switch (attr) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
                value.accessPolicyWindow = node->kernel.window;
                break;
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                value.cooperative = node->kernel.launch.is_cooperative;
                break;
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
                value.priority = node->kernel.priority;
                break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                memcpy(&value.clusterDim, node->kernel.launch.cluster, sizeof value.clusterDim);
                break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
                value.clusterSchedulingPolicyPreference = node->kernel.policy;
                break;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
                value.memSyncDomainMap = node->kernel.domain_map;
                break;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
                value.memSyncDomain = node->kernel.domain;
                break;
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                value.sharedMemCarveout = node->kernel.carveout;
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        *value_out = value;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                           const CUkernelNodeAttrValue *value)
{
        struct node *node = kernel_node(hNode);

        if (!node || !value)
                return CUDA_ERROR_INVALID_VALUE;
        switch (attr) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
                node->kernel.window = value->accessPolicyWindow;
                break;
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                node->kernel.launch.is_cooperative = value->cooperative != 0;
                break;
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
                node->kernel.priority = value->priority;
                break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                memcpy(node->kernel.launch.cluster, &value->clusterDim, sizeof value->clusterDim);
                break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
                node->kernel.policy = value->clusterSchedulingPolicyPreference;
                break;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
                node->kernel.domain_map = value->memSyncDomainMap;
                break;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
                node->kernel.domain = value->memSyncDomain;
                break;
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                node->kernel.carveout = value->sharedMemCarveout;
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
        static const CUkernelNodeAttrID copied[] = {
                CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                CU_LAUNCH_ATTRIBUTE_PRIORITY,
                CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
                CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        };

        if (!kernel_node(dst) || !kernel_node(src))
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
                CUkernelNodeAttrValue value;

                sim_cuGraphKernelNodeGetAttribute(src, copied[i], &value);
                sim_cuGraphKernelNodeSetAttribute(dst, copied[i], &value);
        }
        return CUDA_SUCCESS;
}
