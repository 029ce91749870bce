/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU that others have filled: whichever call asks for memory, the driver's refusal is said once, and as the
 * driver's. */
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "guest.h"

enum { ASKED_MIB = 200, TAKEN_MIB = 900 }; /* of 1 GiB */

#define ASKED_BYTES (ASKED_MIB * MIB)

typedef CUresult way_fn(void);

static CUresult plain(void)
{
        CUdeviceptr address;

        return cuMemAlloc_v2(&address, ASKED_BYTES);
}

static CUresult pitched(void)
{
        CUdeviceptr address;
        size_t pitch;

        return cuMemAllocPitch_v2(&address, &pitch, 1 << 20, ASKED_MIB, 4);
}

static CUresult ordered(void)
{
        CUdeviceptr address;

        return cuMemAllocAsync(&address, ASKED_BYTES, NULL);
}

static CUresult pooled(void)
{
        CUdeviceptr address;
        CUmemoryPool pool;

        CHECK_EQ(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
        return cuMemAllocFromPoolAsync(&address, ASKED_BYTES, pool, NULL);
}

static CUresult physical(void)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
        CUmemGenericAllocationHandle handle;

        return cuMemCreate(&handle, ASKED_BYTES, &prop, 0);
}

static CUresult array(void)
{
        const CUDA_ARRAY_DESCRIPTOR shape = { .Width = 1 << 18,
                                              .Height = ASKED_MIB,
                                              .Format = CU_AD_FORMAT_FLOAT,
                                              .NumChannels = 1 };
        CUarray made;

        return cuArrayCreate_v2(&made, &shape);
}

static CUresult solid(void)
{
        const CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 1 << 10,
                                                .Height = 1 << 8,
                                                .Depth = ASKED_MIB,
                                                .Format = CU_AD_FORMAT_FLOAT,
                                                .NumChannels = 1 };
        CUarray made;

        return cuArray3DCreate_v2(&made, &shape);
}

static CUgraph graph_new(void)
{
        CUgraph graph;

        CHECK_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
        return graph;
}

static CUgraphNodeParams node_params(void)
{
        CUgraphNodeParams params;

        memset(&params, 0, sizeof params);
        params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        params.alloc.bytesize = ASKED_BYTES;
        return params;
}

static CUresult alloc_node(void)
{
        CUgraphNodeParams params = node_params();
        CUgraphNode node;

        return cuGraphAddMemAllocNode(&node, graph_new(), NULL, 0, &params.alloc);
}

static CUresult any_node(void)
{
        CUgraphNodeParams params = node_params();
        CUgraphNode node;

        return cuGraphAddNode(&node, graph_new(), NULL, 0, &params);
}

static CUresult any_node_v2(void)
{
        CUgraphNodeParams params = node_params();
        CUgraphNode node;

        return cuGraphAddNode_v2(&node, graph_new(), NULL, NULL, 0, &params);
}

static CUstream capture_begin(void)
{
        CUstream stream;

        CHECK_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        CHECK_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
        return stream;
}

static CUresult captured(void)
{
        CUdeviceptr address;

        return cuMemAllocAsync(&address, ASKED_BYTES, capture_begin());
}

static CUresult captured_pooled(void)
{
        CUmemoryPool pool;
        CUdeviceptr address;

        CHECK_EQ(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
        return cuMemAllocFromPoolAsync(&address, ASKED_BYTES, pool, capture_begin());
}

/* A driver may take a graph's memory in any of these calls; ours takes it with the node, and is made to refuse. */
static void refuse(const char *function)
{
        CHECK_EQ(fault_fail(sim_machine_open(), function, CUDA_ERROR_OUT_OF_MEMORY, UINT32_MAX), 0);
}

static CUgraph graph_with_memory(void)
{
        static CUgraph graph;
        CUgraphNodeParams params = node_params();
        CUgraphNode node;

        if (graph)
                return graph;
        graph = graph_new();
        guest_device_taken(0, 0);
        CHECK_EQ(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params.alloc), CUDA_SUCCESS);
        return graph;
}

static CUgraphExec instance_of_graph(const char *refused)
{
        static CUgraphExec instance;

        if (!instance)
                CHECK_EQ(cuGraphInstantiateWithFlags(&instance, graph_with_memory(), 0),
                         CUDA_SUCCESS);
        refuse(refused);
        return instance;
}

static CUresult instantiated(void)
{
        CUgraphExec instance;

        refuse("cuGraphInstantiate");
        return cuGraphInstantiate(&instance, graph_with_memory(), NULL, NULL, 0);
}

static CUresult instantiated_v2(void)
{
        CUgraphExec instance;

        refuse("cuGraphInstantiate_v2");
        return cuGraphInstantiate_v2(&instance, graph_with_memory(), NULL, NULL, 0);
}

static CUresult instantiated_with_flags(void)
{
        CUgraphExec instance;

        refuse("cuGraphInstantiateWithFlags");
        return cuGraphInstantiateWithFlags(&instance, graph_with_memory(), 0);
}

static CUresult instantiated_with_params(void)
{
        CUDA_GRAPH_INSTANTIATE_PARAMS params;
        CUgraphExec instance;

        memset(&params, 0, sizeof params);
        params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
        refuse("cuGraphInstantiateWithParams");
        return cuGraphInstantiateWithParams(&instance, graph_with_memory(), &params);
}

static CUresult launched(void)
{
        return cuGraphLaunch(instance_of_graph("cuGraphLaunch"), NULL);
}

static CUresult uploaded(void)
{
        return cuGraphUpload(instance_of_graph("cuGraphUpload"), NULL);
}

/* A full GPU alone does not keep it from the host. */
static CUresult managed(void)
{
        CUdeviceptr address;

        refuse("cuMemAllocManaged");
        return cuMemAllocManaged(&address, ASKED_BYTES, CU_MEM_ATTACH_GLOBAL);
}

static CUresult context(void)
{
        CUcontext made;

        return cuCtxCreate_v2(&made, 0, 0);
}

static way_fn *way;

static void ask_thrice(void)
{
        if (way == context)
                CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        else
                guest_start(NULL);
        for (unsigned i = 0; i < 3; i++)
                CHECK_EQ(way(), CUDA_ERROR_OUT_OF_MEMORY);
}

static void check_way(way_fn *asked, uint64_t context_bytes)
{
        guest_machine_with(1, context_bytes);
        guest_device_taken(0, TAKEN_MIB * MIB);
        setenv("VGPU_MEMORY_LIMIT", "500m", 1);
        way = asked;
        const char *text = guest_said(ask_thrice);
        const char *line = strstr(text, "refused on device 0 by the driver, not by the limit");
        CHECK(line);
        CHECK(line && !strstr(line + 1, "refused")); /* once */
        CHECK(!strstr(text, "by the limit ("));
}

/* With the size of a context. */
/* clang-format off */
#define WAYS(WAY) \
        WAY(plain, 0) WAY(pitched, 0) WAY(managed, 0) WAY(ordered, 0) WAY(pooled, 0) \
        WAY(physical, 0) WAY(array, 0) WAY(solid, 0) WAY(alloc_node, 0) WAY(any_node, 0) \
        WAY(any_node_v2, 0) WAY(captured, 0) WAY(captured_pooled, 0) WAY(instantiated, 0) \
        WAY(instantiated_v2, 0) WAY(instantiated_with_flags, 0) \
        WAY(instantiated_with_params, 0) WAY(launched, 0) WAY(uploaded, 0) \
        WAY(context, ASKED_BYTES)
/* clang-format on */

#define WAY_TEST(asked, context_bytes)           \
        SIM_TEST(the_driver_refuses_##asked)     \
        {                                        \
                check_way(asked, context_bytes); \
        }
WAYS(WAY_TEST)

#define WAY_CASE(asked, context_bytes) CASE(the_driver_refuses_##asked),

int main(void)
{
        return RUN(WAYS(WAY_CASE));
}
