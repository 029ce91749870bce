/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, as far as they allocate: a graph without memory nodes costs one look-up at most. */
#include "batch.h"
#include "graph_charge.h"
#include "limits.h"
#include "limits_compute.h"
#include "presence.h"
#include "virtual_heat.h"

static void node_need(struct graph_need *ret_need, const CUgraphNodeParams *params)
{
        *ret_need = (struct graph_need){ 0 };
        if (params && limits_are_set() && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
                graph_need_one(ret_need, params->alloc.poolProps.location.id,
                               params->alloc.bytesize);
}

CUresult hook_cuGraphAddNode(cuGraphAddNode_fn *real, CUgraphNode *node, CUgraph graph,
                             const CUgraphNode *dependencies, size_t count,
                             CUgraphNodeParams *params)
{
        struct graph_charge charge;
        struct graph_need need;

        node_need(&need, params);
        if (!need.devices)
                return real(node, graph, dependencies, count, params);
        CUresult r = graph_charge_admit_node(&need, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        return graph_charge_settle(&need, &charge, real(node, graph, dependencies, count, params));
}

CUresult hook_cuGraphAddNode_v2(cuGraphAddNode_v2_fn *real, CUgraphNode *node, CUgraph graph,
                                const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                size_t count, CUgraphNodeParams *params)
{
        struct graph_charge charge;
        struct graph_need need;

        node_need(&need, params);
        if (!need.devices)
                return real(node, graph, dependencies, edges, count, params);
        CUresult r = graph_charge_admit_node(&need, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        return graph_charge_settle(&need, &charge,
                                   real(node, graph, dependencies, edges, count, params));
}

/* Uploaded at once, an instance gets its memory now; otherwise the pools are queried afterwards. */
static CUresult instantiate_begin(struct graph_need *need, struct graph_charge *charge,
                                  CUgraph graph, uint64_t flags)
{
        graph_need_of(need, graph);
        if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
                return graph_charge_admit(need, charge);
        charge->devices = 0;
        return CUDA_SUCCESS;
}

static CUresult instantiate_end(const struct graph_need *need, struct graph_charge *charge,
                                CUresult result, const CUgraphExec *instance)
{
        CUresult r = graph_charge_settle(need, charge, result);

        if (r == CUDA_SUCCESS)
                graph_charge_instance(*instance, need);
        else if (result == CUDA_SUCCESS)
                real_cuda.cuGraphExecDestroy(*instance);
        if (r != result)
                graph_charge_refresh();
        return r;
}

CUresult hook_cuGraphInstantiate(cuGraphInstantiate_fn *real, CUgraphExec *instance, CUgraph graph,
                                 CUgraphNode *error_node, char *log, size_t log_bytes)
{
        struct graph_charge charge;
        struct graph_need need;
        CUresult r = instantiate_begin(&need, &charge, graph, 0);

        if (r != CUDA_SUCCESS)
                return r;
        return instantiate_end(&need, &charge, real(instance, graph, error_node, log, log_bytes),
                               instance);
}

CUresult hook_cuGraphInstantiate_v2(cuGraphInstantiate_v2_fn *real, CUgraphExec *instance,
                                    CUgraph graph, CUgraphNode *error_node, char *log,
                                    size_t log_bytes)
{
        return hook_cuGraphInstantiate((cuGraphInstantiate_fn *)real, instance, graph, error_node,
                                       log, log_bytes);
}

CUresult hook_cuGraphInstantiateWithFlags(cuGraphInstantiateWithFlags_fn *real,
                                          CUgraphExec *instance, CUgraph graph,
                                          unsigned long long flags)
{
        struct graph_charge charge;
        struct graph_need need;
        CUresult r = instantiate_begin(&need, &charge, graph, flags);

        return r != CUDA_SUCCESS
                       ? r
                       : instantiate_end(&need, &charge, real(instance, graph, flags), instance);
}

CUresult hook_cuGraphInstantiateWithParams(cuGraphInstantiateWithParams_fn *real,
                                           CUgraphExec *instance, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        struct graph_charge charge;
        struct graph_need need;
        CUresult r = instantiate_begin(&need, &charge, graph, params ? params->flags : 0);

        return r != CUDA_SUCCESS
                       ? r
                       : instantiate_end(&need, &charge, real(instance, graph, params), instance);
}

/* The arguments of both are the same, and so is what may happen to memory. */
static CUresult run(CUresult (*real)(CUgraphExec, CUstream), CUgraphExec instance, CUstream stream)
{
        struct graph_charge charge;
        struct graph_need need;

        graph_need_of_instance(&need, instance);
        if (!need.devices)
                return real(instance, stream);
        CUresult r = graph_charge_admit(&need, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        CUresult result = real(instance, stream);
        graph_charge_settle_launch(&need, &charge, result);
        if (result == CUDA_SUCCESS)
                graph_charge_launched(instance);
        return result;
}

/* See launch.c. */
static void heat(CUstream stream)
{
        struct virtual_heat used;

        if (!virtual_heat_is_on() || !virtual_heat_note_graph(stream, &used))
                return;
        batch_end(stream);
        const CUstreamCaptureMode mode = meter_relax();
        virtual_heat_move(&used, stream);
        meter_restore(mode);
}

CUresult hook_cuGraphLaunch(cuGraphLaunch_fn *real, CUgraphExec instance, CUstream stream)
{
        struct admission admission;
        bool is_twin = real == real_cuda.cuGraphLaunch_ptsz;

        if (!limits_compute_is_on())
                return run(real, instance, stream);
        heat(batch_stream(stream, is_twin));
        batch_admit(batch_stream(stream, is_twin), NULL, cost_key_graph(instance), &admission);
        CUresult r = run(real, instance, stream);
        batch_settle(&admission, r);
        return r;
}

CUresult hook_cuGraphUpload(cuGraphUpload_fn *real, CUgraphExec instance, CUstream stream)
{
        return run(real, instance, stream);
}

CUresult hook_cuGraphExecDestroy(cuGraphExecDestroy_fn *real, CUgraphExec instance)
{
        if (!limits_are_set())
                return real(instance);
        cost_forget(cost_key_graph(instance));
        presence_enter();
        CUresult r = real(instance);
        if (r == CUDA_SUCCESS)
                graph_charge_instance_gone(instance);
        presence_leave();
        return r;
}

CUresult hook_cuGraphDestroy(cuGraphDestroy_fn *real, CUgraph graph)
{
        if (!limits_are_set())
                return real(graph);
        presence_enter();
        CUresult r = real(graph);
        if (r == CUDA_SUCCESS)
                graph_charge_refresh();
        presence_leave();
        return r;
}
