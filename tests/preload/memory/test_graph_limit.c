/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that graphs allocate, held to the limit whichever call takes it. */
#include <stdlib.h>
#include <string.h>

#include "guest.h"

/* A container of 100 MiB with a neighbour, and a stream. */
static CUstream begin(void)
{
        CUstream stream;

        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        guest_neighbour();
        guest_start(NULL);
        assert_int_equal(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        return stream;
}

static CUDA_MEM_ALLOC_NODE_PARAMS allocation(uint64_t bytes)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params;

        memset(&params, 0, sizeof params);
        params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        params.bytesize = bytes;
        return params;
}

enum way { BY_ALLOC_NODE, BY_NODE, BY_NODE_V2 };

static CUresult node_add(enum way way, CUgraph graph, uint64_t bytes, CUdeviceptr *ret_address)
{
        CUgraphNodeParams params;
        CUgraphNode node;
        CUresult r;

        memset(&params, 0, sizeof params);
        params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        params.alloc = allocation(bytes);
        if (way == BY_ALLOC_NODE)
                r = cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params.alloc);
        else if (way == BY_NODE)
                r = cuGraphAddNode(&node, graph, NULL, 0, &params);
        else
                r = cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params);
        if (ret_address)
                *ret_address = params.alloc.dptr;
        return r;
}

static void check_way(enum way way)
{
        CUdeviceptr plain;
        CUgraph graph;

        begin();
        CHECK_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
        CHECK_EQ(node_add(way, graph, 60 * MIB - 5, NULL), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 60 * MIB);
        guest_check_charges(100 * MIB);
        CHECK_EQ(node_add(way, graph, 60 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        guest_check_charges(100 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&plain, 60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_neighbour_gets(60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
}

SIM_TEST(a_node_that_allocates)
{
        check_way(BY_ALLOC_NODE);
}

SIM_TEST(a_node_of_any_type_that_allocates)
{
        check_way(BY_NODE);
}

SIM_TEST(a_node_with_edges_that_allocates)
{
        check_way(BY_NODE_V2);
}

SIM_TEST(a_node_is_charged_to_the_device_it_names)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = allocation(60 * MIB);
        CUcontext primary;
        CUgraphNode node;
        CUgraph graph;

        begin();
        CHECK_EQ(cuDevicePrimaryCtxRetain(&primary, 1), CUDA_SUCCESS);
        CHECK_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
        params.poolProps.location.id = 1;
        CHECK_EQ(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(guest_device_bytes(1), 60 * MIB);
        CHECK_EQ(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_ERROR_OUT_OF_MEMORY);
}

/* Nothing is allocated from the pool while a stream is captured. */
SIM_TEST(a_captured_allocation)
{
        CUstream stream = begin();
        cuuint64_t pooled = 1;
        CUmemoryPool pool;
        CUdeviceptr a, b;
        CUgraph graph;

        CHECK_EQ(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
        CHECK_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocAsync(&a, 40 * MIB, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&b, 40 * MIB, pool, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocAsync(&b, 40 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAllocFromPoolAsync(&b, 40 * MIB, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &pooled),
                 CUDA_SUCCESS);
        CHECK_EQ(pooled, 0);
        CHECK_EQ(guest_held(), 80 * MIB);
        guest_check_charges(100 * MIB);
        CHECK_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

SIM_TEST(a_captured_allocation_of_the_threads_own_stream)
{
        CUdeviceptr a, b;
        CUgraph graph;

        begin();
        CHECK_EQ(cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED),
                 CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocAsync_ptsz(&a, 60 * MIB, NULL), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 60 * MIB);
        CHECK_EQ(cuMemAllocAsync_ptsz(&b, 60 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph), CUDA_SUCCESS);
        guest_check_charges(100 * MIB);
}

SIM_TEST(a_capture_that_fails_gives_its_memory_back)
{
        CUstream stream = begin();
        CUdeviceptr a;
        CUgraph graph;

        CHECK_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocAsync(&a, 60 * MIB, stream), CUDA_SUCCESS);
        CHECK(cuStreamSynchronize(stream) != CUDA_SUCCESS);
        CHECK(cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

typedef CUresult instantiate_fn(CUgraphExec *instance, CUgraph graph);

static CUresult instantiate_v1(CUgraphExec *instance, CUgraph graph)
{
        return cuGraphInstantiate(instance, graph, NULL, NULL, 0);
}

static CUresult instantiate_v2(CUgraphExec *instance, CUgraph graph)
{
        return cuGraphInstantiate_v2(instance, graph, NULL, NULL, 0);
}

static CUresult instantiate_flags(CUgraphExec *instance, CUgraph graph)
{
        return cuGraphInstantiateWithFlags(instance, graph, 0);
}

static CUresult instantiate_params(CUgraphExec *instance, CUgraph graph)
{
        CUDA_GRAPH_INSTANTIATE_PARAMS params;

        memset(&params, 0, sizeof params);
        return cuGraphInstantiateWithParams(instance, graph, &params);
}

/* A second instance may need as much again while the first one's memory is in use: where that is not
 * there, it is refused before it starts. */
static void check_instances(instantiate_fn *instantiate)
{
        CUstream stream = begin();
        CUgraphExec first, second;
        CUdeviceptr address;
        CUgraph graph;

        CHECK_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
        CHECK_EQ(node_add(BY_ALLOC_NODE, graph, 60 * MIB, &address), CUDA_SUCCESS);
        CHECK_EQ(cuGraphInstantiateWithFlags(&first, graph,
                                             CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
                 CUDA_SUCCESS);
        CHECK_EQ(instantiate(&second, graph), CUDA_SUCCESS);
        CHECK_EQ(cuGraphLaunch(first, stream), CUDA_SUCCESS);
        CHECK_EQ(cuGraphLaunch(first, stream), CUDA_SUCCESS);
        CHECK_EQ(cuGraphUpload(second, stream), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuGraphLaunch(second, stream), CUDA_ERROR_OUT_OF_MEMORY);
        guest_check_charges(100 * MIB);
        /* Its memory free again, the other can have it. */
        CHECK_EQ(cuMemFreeAsync(address, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(cuGraphLaunch(second, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(address, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
        CHECK_EQ(cuGraphExecDestroy(first), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuGraphExecDestroy(second), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
}

SIM_TEST(instances)
{
        check_instances(instantiate_v1);
}

SIM_TEST(instances_of_the_second_version)
{
        check_instances(instantiate_v2);
}

SIM_TEST(instances_with_flags)
{
        check_instances(instantiate_flags);
}

SIM_TEST(instances_with_parameters)
{
        check_instances(instantiate_params);
}

/* One graph frees what another allocated: seen when the pool is trimmed. */
SIM_TEST(trimmed_graph_memory_can_be_had_again)
{
        CUstream stream = begin();
        CUgraphExec first, second;
        CUgraph makes, frees;
        CUdeviceptr address;
        CUgraphNode node;

        CHECK_EQ(cuGraphCreate(&makes, 0), CUDA_SUCCESS);
        CHECK_EQ(cuGraphCreate(&frees, 0), CUDA_SUCCESS);
        CHECK_EQ(node_add(BY_ALLOC_NODE, makes, 60 * MIB, &address), CUDA_SUCCESS);
        CHECK_EQ(cuGraphAddMemFreeNode(&node, frees, NULL, 0, address), CUDA_SUCCESS);
        CHECK_EQ(instantiate_flags(&first, makes), CUDA_SUCCESS);
        CHECK_EQ(instantiate_flags(&second, frees), CUDA_SUCCESS);
        CHECK_EQ(cuGraphLaunch(first, stream), CUDA_SUCCESS);
        CHECK_EQ(cuGraphDestroy(makes), CUDA_SUCCESS);
        CHECK_EQ(cuGraphExecDestroy(first), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuGraphLaunch(second, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

SIM_TEST(graph_memory_outlives_its_graph_until_it_is_freed)
{
        CUstream stream = begin();
        CUgraphExec instance;
        CUdeviceptr address;
        CUgraph graph;

        CHECK_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
        CHECK_EQ(node_add(BY_ALLOC_NODE, graph, 60 * MIB, &address), CUDA_SUCCESS);
        CHECK_EQ(instantiate_flags(&instance, graph), CUDA_SUCCESS);
        CHECK_EQ(cuGraphLaunch(instance, stream), CUDA_SUCCESS);
        CHECK_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
        CHECK_EQ(cuGraphExecDestroy(instance), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

int main(void)
{
        return RUN(CASE(a_node_that_allocates), CASE(a_node_of_any_type_that_allocates),
                   CASE(a_node_with_edges_that_allocates),
                   CASE(a_node_is_charged_to_the_device_it_names), CASE(a_captured_allocation),
                   CASE(a_captured_allocation_of_the_threads_own_stream),
                   CASE(a_capture_that_fails_gives_its_memory_back), CASE(instances),
                   CASE(instances_of_the_second_version), CASE(instances_with_flags),
                   CASE(instances_with_parameters), CASE(trimmed_graph_memory_can_be_had_again),
                   CASE(graph_memory_outlives_its_graph_until_it_is_freed));
}
