/* SPDX-License-Identifier: Apache-2.0 */
/* Memory nodes of graphs: an address with the node, in use from launch to free. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "graph_memory.h"
#include "memory.h"
#include "scope.h"

struct graph_memory {
        CUdeviceptr address;
        size_t bytes;
        struct device *device;
        unsigned references; /* nodes */
        bool is_in_use;      /* between alloc and free */
};

static pthread_mutex_t node_memory_lock = PTHREAD_MUTEX_INITIALIZER;

static void count_bytes(struct device *device, CUgraphMem_attribute current, int64_t bytes)
{
        uint64_t *now = &device->graph_memory[current], *high = now + 1;

        *now += (uint64_t)bytes;
        if (*now > *high)
                *high = *now;
}

static CUresult graph_memory_new(struct context *context, size_t bytes,
                                 struct graph_memory **ret_memory)
{
        struct graph_memory *memory = calloc(1, sizeof *memory);
        CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

        /* Graphs map whole granules. */
        bytes = (bytes + MACHINE_GRANULE_BYTES - 1) / MACHINE_GRANULE_BYTES * MACHINE_GRANULE_BYTES;
        if (memory)
                r = memory_alloc(context, bytes, MEMORY_GRAPH, &memory->address);
        if (r != CUDA_SUCCESS) {
                free(memory);
                return r;
        }
        memory->bytes = bytes;
        memory->device = context->device;
        memory->references = 1;
        memory_find(memory->address)->owner = memory;
        pthread_mutex_lock(&node_memory_lock);
        count_bytes(memory->device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, (int64_t)bytes);
        pthread_mutex_unlock(&node_memory_lock);
        *ret_memory = memory;
        return CUDA_SUCCESS;
}

/* The lock is held. */
static void graph_memory_drop(struct graph_memory *memory)
{
        struct allocation *allocation = memory_find(memory->address);

        if (memory->references || memory->is_in_use)
                return;
        count_bytes(memory->device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                    -(int64_t)memory->bytes);
        /* With its context, the memory may be gone already. */
        if (allocation && allocation->owner == memory)
                memory_free(memory->address);
        free(memory);
}

static void graph_memory_use(struct graph_memory *memory, bool is_in_use)
{
        if (memory->is_in_use == is_in_use)
                return;
        memory->is_in_use = is_in_use;
        count_bytes(memory->device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
                    is_in_use ? (int64_t)memory->bytes : -(int64_t)memory->bytes);
}

CUresult graph_memory_free(struct allocation *allocation)
{
        autounlock pthread_mutex_t *held = scope_lock(&node_memory_lock);
        struct graph_memory *memory = allocation->owner;

        if (!memory || !memory->is_in_use || memory->address != allocation->base)
                return CUDA_ERROR_INVALID_VALUE;
        graph_memory_use(memory, false);
        graph_memory_drop(memory);
        return CUDA_SUCCESS;
}

bool graph_memory_is_ready(const struct graph *graph, bool is_auto_free)
{
        for (size_t i = 0; i < graph->nodes.count; i++) {
                const struct node *node = graph_node(graph, i);

                if (node->type == CU_GRAPH_NODE_TYPE_GRAPH &&
                    !graph_memory_is_ready(node->child, is_auto_free))
                        return false;
                if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && node->alloc.memory->is_in_use &&
                    !is_auto_free)
                        return false;
        }
        return true;
}

static CUresult alloc_context(const CUDA_MEM_ALLOC_NODE_PARAMS *params, struct context *current,
                              struct context **ret_context)
{
        const CUmemLocation *location = &params->poolProps.location;
        struct device *device = driver_device(location->id);

        if (!params->bytesize || params->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
            location->type != CU_MEM_LOCATION_TYPE_DEVICE || !device)
                return CUDA_ERROR_INVALID_VALUE;
        if (params->poolProps.handleTypes)
                return CUDA_ERROR_INVALID_VALUE; /* graph memory cannot be exported */
        if (params->accessDescCount && !params->accessDescs)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_context = current && current->device == device ? current : device->primary;
        return *ret_context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult alloc_take_access(struct node *node, const CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
        size_t count = params->accessDescCount;
        CUmemAccessDesc *copy = NULL;

        if (count) {
                copy = malloc(count * sizeof *copy);
                if (!copy)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                memcpy(copy, params->accessDescs, count * sizeof *copy);
        }
        node->alloc.params = *params;
        node->alloc.params.accessDescs = copy;
        return CUDA_SUCCESS;
}

static CUresult alloc_set(struct node *node, CUgraphNodeParams *params)
{
        struct context *context;
        CUresult r;

        if (node->alloc.memory)
                return CUDA_ERROR_NOT_SUPPORTED;
        r = alloc_context(&params->alloc, node->context, &context);
        if (r == CUDA_SUCCESS)
                r = alloc_take_access(node, &params->alloc);
        if (r == CUDA_SUCCESS)
                r = graph_memory_new(context, params->alloc.bytesize, &node->alloc.memory);
        if (r != CUDA_SUCCESS)
                return r;
        node->context = context;
        node->alloc.params.dptr = params->alloc.dptr = node->alloc.memory->address;
        return CUDA_SUCCESS;
}

static void alloc_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->alloc = node->alloc.params;
}

static CUresult alloc_copy(struct node *to, const struct node *from)
{
        CUresult r = alloc_take_access(to, &from->alloc.params);

        if (r != CUDA_SUCCESS)
                return r;
        pthread_mutex_lock(&node_memory_lock);
        from->alloc.memory->references++;
        pthread_mutex_unlock(&node_memory_lock);
        to->alloc.memory = from->alloc.memory;
        return CUDA_SUCCESS;
}

static void alloc_done(struct node *node)
{
        free((void *)(uintptr_t)node->alloc.params.accessDescs);
        if (!node->alloc.memory)
                return;

        autounlock pthread_mutex_t *held = scope_lock(&node_memory_lock);
        node->alloc.memory->references--;
        graph_memory_drop(node->alloc.memory);
}

static CUresult alloc_submit(struct node *node, struct stream *stream)
{
        autounlock pthread_mutex_t *held = scope_lock(&node_memory_lock);

        (void)stream;
        graph_memory_use(node->alloc.memory, true);
        return CUDA_SUCCESS;
}

const struct node_kind node_kind_alloc = {
        .name = "MEM_ALLOC",
        .set = alloc_set,
        .get = alloc_get,
        .copy = alloc_copy,
        .done = alloc_done,
        .submit = alloc_submit,
};

static struct graph_memory *memory_at(CUdeviceptr address)
{
        struct allocation *allocation = memory_find(address);

        if (!allocation || allocation->kind != MEMORY_GRAPH || allocation->base != address)
                return NULL;
        return allocation->owner;
}

static CUresult free_set(struct node *node, CUgraphNodeParams *params)
{
        if (node->free)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (!memory_at(params->free.dptr))
                return CUDA_ERROR_INVALID_VALUE;
        node->free = params->free.dptr;
        return CUDA_SUCCESS;
}

static void free_get(const struct node *node, CUgraphNodeParams *ret_params)
{
        ret_params->free.dptr = node->free;
}

static CUresult free_copy(struct node *to, const struct node *from)
{
        to->free = from->free;
        return CUDA_SUCCESS;
}

static CUresult free_submit(struct node *node, struct stream *stream)
{
        struct graph_memory *memory = memory_at(node->free);

        (void)stream;
        if (!memory)
                return CUDA_ERROR_INVALID_VALUE;

        autounlock pthread_mutex_t *held = scope_lock(&node_memory_lock);
        graph_memory_use(memory, false);
        graph_memory_drop(memory);
        return CUDA_SUCCESS;
}

const struct node_kind node_kind_free = {
        .name = "MEM_FREE",
        .set = free_set,
        .get = free_get,
        .copy = free_copy,
        .submit = free_submit,
};
