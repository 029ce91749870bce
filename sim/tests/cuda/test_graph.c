/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of graphs: built by hand, launched, changed, measured. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec.h"

static CUDA_KERNEL_NODE_PARAMS kernel_params(CUfunction function, void **params)
{
        return (CUDA_KERNEL_NODE_PARAMS){
                .func = function,
                .gridDimX = 1,
                .gridDimY = 1,
                .gridDimZ = 1,
                .blockDimX = 1,
                .blockDimY = 1,
                .blockDimZ = 1,
                .kernelParams = params,
        };
}

/* A graph of `count` kernels in a row. */
static CUgraph chain(CUfunction function, unsigned count, CUgraphNode *nodes)
{
        CUDA_KERNEL_NODE_PARAMS params = kernel_params(function, NULL);
        CUgraph graph;

        OK(cuGraphCreate(&graph, 0));
        for (unsigned i = 0; i < count; i++)
                OK(cuGraphAddKernelNode_v2(&nodes[i], graph, i ? &nodes[i - 1] : NULL, i != 0,
                                           &params));
        return graph;
}

SIM_TEST(a_chain_takes_the_sum_of_its_kernels)
{
        struct exec_fixture exec = exec_start();
        CUgraphNode nodes[5];
        CUgraph graph = chain(exec_function(&exec, "kernel_2ms"), 5, nodes);
        CUgraphExec instance;
        CUevent start, end;
        CUstream stream;
        float ms;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuEventCreate(&start, 0));
        OK(cuEventCreate(&end, 0));
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphDestroy(graph)); /* the instance is its own */
        OK(exec_run(exec_function(&exec, "kernel_50ms"), stream));
        OK(cuEventRecord(start, stream));
        OK(cuGraphLaunch(instance, stream));
        OK(cuEventRecord(end, stream));
        CHECK_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        OK(cuEventSynchronize(end));
        OK(cuEventElapsedTime(&ms, start, end));
        CHECK(ms > 9.95 && ms < 10.05);
        OK(cuGraphExecDestroy(instance));
}

static _Atomic int number;

static void take_number(void *ret_number)
{
        *(int *)ret_number = ++number;
}

static CUgraphNode add_host(CUgraph graph, const CUgraphNode *before, size_t count, int *ret_number)
{
        CUDA_HOST_NODE_PARAMS params = { take_number, ret_number };
        CUgraphNode node;

        OK(cuGraphAddHostNode(&node, graph, before, count, &params));
        return node;
}

SIM_TEST(branches_meet_again_before_what_follows)
{
        struct exec_fixture exec = exec_start();
        CUDA_KERNEL_NODE_PARAMS params = kernel_params(exec_function(&exec, "kernel_2ms"), NULL);
        int first = 0, left = 0, right = 0, last = 0, after = 0;
        CUgraphNode root, branches[2], slow;
        CUgraphExec instance;
        CUgraph graph;

        OK(cuGraphCreate(&graph, 0));
        root = add_host(graph, NULL, 0, &first);
        OK(cuGraphAddKernelNode_v2(&slow, graph, &root, 1, &params));
        branches[0] = add_host(graph, &slow, 1, &left);
        branches[1] = add_host(graph, &root, 1, &right);
        add_host(graph, branches, 2, &last);
        OK(cuGraphInstantiate_v2(&instance, graph, NULL, NULL, 0));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuLaunchHostFunc(NULL, take_number, &after));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(first, 1);
        CHECK_EQ(right, 2); /* it does not wait for the kernel */
        CHECK_EQ(left, 3);
        CHECK_EQ(last, 4);
        CHECK_EQ(after, 5);
}

SIM_TEST(launches_of_one_instance_follow_each_other_in_any_stream)
{
        struct exec_fixture exec = exec_start();
        CUgraphNode nodes[1];
        CUgraph graph = chain(exec_function(&exec, "kernel_20ms"), 1, nodes);
        CUstream streams[2];
        CUgraphExec instance;
        double begin;

        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        begin = exec_now_ms();
        for (unsigned i = 0; i < 2; i++) {
                OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
                OK(cuGraphLaunch(instance, streams[i]));
        }
        OK(cuStreamSynchronize(streams[1]));
        CHECK(exec_now_ms() - begin >= 40);
        OK(cuStreamQuery(streams[0]));
}

SIM_TEST(copies_fills_and_kernels_compute_together)
{
        struct exec_fixture exec = exec_start();
        unsigned n = 3, result = 0, seed = 39;
        CUdeviceptr word;
        void *arguments[] = { &word, &n };
        CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(exec_function(&exec, "add"), arguments);
        CUDA_MEMSET_NODE_PARAMS fill = { .value = 7, .elementSize = 4, .width = 4, .height = 1 };
        CUDA_MEMCPY3D in = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                             .srcHost = &seed,
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                             .WidthInBytes = 4,
                             .Height = 1,
                             .Depth = 1 };
        CUDA_MEMCPY3D out = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstHost = &result,
                              .dstMemoryType = CU_MEMORYTYPE_HOST,
                              .WidthInBytes = 4,
                              .Height = 1,
                              .Depth = 1 };
        CUgraphNode nodes[5];
        CUgraphExec instance;
        CUgraph graph;

        OK(cuMemAlloc_v2(&word, 16));
        fill.dst = in.dstDevice = out.srcDevice = word;
        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill, exec.context));
        OK(cuGraphAddMemcpyNode(&nodes[1], graph, &nodes[0], 1, &in, exec.context));
        OK(cuGraphAddKernelNode_v2(&nodes[2], graph, &nodes[1], 1, &kernel));
        OK(cuGraphAddEmptyNode(&nodes[3], graph, &nodes[2], 1));
        OK(cuGraphAddMemcpyNode(&nodes[4], graph, &nodes[3], 1, &out, exec.context));
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(result, 42);

        n = 5; /* the instance keeps its own copy until it is told */
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(result, 42);
        OK(cuGraphExecKernelNodeSetParams_v2(instance, nodes[2], &kernel));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(result, 44);

        OK(cuGraphNodeSetEnabled(instance, nodes[2], 0));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(result, 39);
        CHECK_EQ(cuGraphNodeSetEnabled(instance, nodes[3], 0), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(an_update_takes_over_a_graph_of_the_same_shape_only)
{
        struct exec_fixture exec = exec_start();
        CUfunction quick = exec_function(&exec, "short_kernel"),
                   slow = exec_function(&exec, "kernel_20ms");
        CUgraphExecUpdateResultInfo info;
        CUgraphNode nodes[3], others[3];
        CUgraph graph = chain(quick, 2, nodes), same = chain(slow, 2, others);
        CUgraph longer = chain(quick, 3, others);
        CUgraphExecUpdateResult result;
        CUgraphExec instance;
        CUgraphNode failed;
        double begin;

        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphExecUpdate_v2(instance, same, &info));
        CHECK_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
        begin = exec_now_ms();
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK(exec_now_ms() - begin >= 40);
        CHECK_EQ(cuGraphExecUpdate(instance, longer, &failed, &result),
                 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        CHECK_EQ(result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        OK(cuGraphDestroyNode(nodes[1]));
        OK(cuGraphAddEmptyNode(&nodes[1], graph, &nodes[0], 1));
        CHECK_EQ(cuGraphExecUpdate_v2(instance, graph, &info),
                 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        CHECK_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
        CHECK(info.errorNode == nodes[1]);
}

SIM_TEST(graphs_tell_their_nodes_and_edges)
{
        struct exec_fixture exec = exec_start();
        CUgraphNode nodes[3], found[4], from[4], to[4], twin;
        CUgraph graph = chain(exec_function(&exec, "short_kernel"), 3, nodes), clone;
        CUDA_KERNEL_NODE_PARAMS params;
        CUgraphNodeType type;
        size_t count = 0;

        OK(cuGraphGetNodes(graph, NULL, &count));
        CHECK_EQ(count, 3);
        count = 4;
        OK(cuGraphGetEdges(graph, from, to, &count));
        CHECK_EQ(count, 2);
        CHECK(from[0] == nodes[0] && to[0] == nodes[1] && !from[2] && !to[3]);
        count = 4;
        OK(cuGraphGetRootNodes(graph, found, &count));
        CHECK_EQ(count, 1);
        CHECK(found[0] == nodes[0]);
        count = 1;
        OK(cuGraphNodeGetDependencies(nodes[2], found, &count));
        CHECK(found[0] == nodes[1]);
        OK(cuGraphRemoveDependencies(graph, &nodes[1], &nodes[2], 1));
        CHECK_EQ(cuGraphRemoveDependencies(graph, &nodes[1], &nodes[2], 1),
                 CUDA_ERROR_INVALID_VALUE);
        OK(cuGraphAddDependencies(graph, &nodes[0], &nodes[2], 1));
        CHECK_EQ(cuGraphAddDependencies(graph, &nodes[0], &nodes[2], 1), CUDA_ERROR_INVALID_VALUE);
        OK(cuGraphNodeGetDependentNodes(nodes[0], NULL, &count));
        CHECK_EQ(count, 2);
        OK(cuGraphClone(&clone, graph));
        OK(cuGraphNodeFindInClone(&twin, nodes[1], clone));
        CHECK(twin != nodes[1]);
        OK(cuGraphNodeGetType(twin, &type));
        CHECK_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
        OK(cuGraphKernelNodeGetParams_v2(twin, &params));
        CHECK(params.func == exec_function(&exec, "short_kernel"));
        OK(cuGraphDestroy(clone));
        OK(cuGraphDestroy(graph));
}

SIM_TEST(a_cycle_cannot_be_instantiated)
{
        struct exec_fixture exec = exec_start();
        CUDA_GRAPH_INSTANTIATE_PARAMS params = { 0 };
        CUgraphNode nodes[2];
        CUgraph graph = chain(exec_function(&exec, "short_kernel"), 2, nodes);
        CUgraphExec instance;

        OK(cuGraphAddDependencies(graph, &nodes[1], &nodes[0], 1));
        CHECK_EQ(cuGraphInstantiateWithParams(&instance, graph, &params), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
}

SIM_TEST(a_child_graph_runs_instead_of_its_node)
{
        struct exec_fixture exec = exec_start();
        int before = 0, inside = 0, after = 0;
        CUgraph graph, child, owned;
        CUgraphExec instance;
        CUgraphNode node, in_child;

        (void)exec;
        OK(cuGraphCreate(&child, 0));
        add_host(child, NULL, 0, &inside);
        OK(cuGraphCreate(&graph, 0));
        node = add_host(graph, NULL, 0, &before);
        OK(cuGraphAddChildGraphNode(&node, graph, &node, 1, child));
        add_host(graph, &node, 1, &after);
        OK(cuGraphDestroy(child)); /* the node has a copy */
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(before, 1);
        CHECK_EQ(inside, 2);
        CHECK_EQ(after, 3);

        CUDA_HOST_NODE_PARAMS host = { take_number, &before };
        size_t count = 1;
        OK(cuGraphChildGraphNodeGetGraph(node, &owned));
        OK(cuGraphGetNodes(owned, &in_child, &count));
        OK(cuGraphExecHostNodeSetParams(instance, in_child, &host));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(before, 5);
        CHECK_EQ(inside, 2);
        CHECK_EQ(cuGraphDestroy(owned), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(a_condition_chooses_what_runs)
{
        struct exec_fixture exec = exec_start();
        int yes = 0, no = 0;
        CUgraphConditionalHandle handles[2];
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
        CUgraphNode nodes[2];
        CUgraphExec instance;
        CUgraph graph;

        OK(cuGraphCreate(&graph, 0));
        for (unsigned i = 0; i < 2; i++) {
                OK(cuGraphConditionalHandleCreate(&handles[i], graph, exec.context, i == 0,
                                                  CU_GRAPH_COND_ASSIGN_DEFAULT));
                params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){ .handle = handles[i],
                                                                     .type = CU_GRAPH_COND_TYPE_IF,
                                                                     .size = 1,
                                                                     .ctx = exec.context };
                OK(cuGraphAddNode_v2(&nodes[i], graph, NULL, NULL, 0, &params));
                add_host(params.conditional.phGraph_out[0], NULL, 0, i == 0 ? &yes : &no);
        }
        params.conditional.handle = 12345;
        CHECK_EQ(cuGraphAddNode_v2(&nodes[0], graph, NULL, NULL, 0, &params),
                 CUDA_ERROR_INVALID_VALUE);
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(yes, 1);
        CHECK_EQ(no, 0);
        OK(cuGraphExecDestroy(instance));
        OK(cuGraphDestroy(graph));
}

SIM_TEST(memory_of_a_graph_has_one_address_and_is_used_from_alloc_to_free)
{
        struct exec_fixture exec = exec_start();
        CUDA_MEM_ALLOC_NODE_PARAMS alloc = { .bytesize = 1 << 20 };
        CUDA_MEMSET_NODE_PARAMS fill = { .value = 5, .elementSize = 4, .width = 16, .height = 1 };
        CUgraphExec instance;
        CUgraphNode nodes[3];
        CUgraph graph;
        unsigned word = 0;

        alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        alloc.poolProps.location.id = exec.device;
        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphAddMemAllocNode(&nodes[0], graph, NULL, 0, &alloc));
        CHECK(alloc.dptr != 0);
        fill.dst = alloc.dptr;
        OK(cuGraphAddMemsetNode(&nodes[1], graph, &nodes[0], 1, &fill, exec.context));
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuMemcpyDtoH_v2(&word, alloc.dptr, 4));
        CHECK_EQ(word, 5);
        CHECK_EQ(cuGraphLaunch(instance, NULL), CUDA_ERROR_INVALID_VALUE); /* still in use */
        OK(cuMemFree_v2(alloc.dptr));
        CHECK_EQ(cuMemFree_v2(alloc.dptr), CUDA_ERROR_INVALID_VALUE);
        OK(cuGraphLaunch(instance, NULL));
        OK(cuMemFreeAsync(alloc.dptr, NULL));
        OK(cuGraphExecDestroy(instance));

        OK(cuGraphAddMemFreeNode(&nodes[2], graph, &nodes[1], 1, alloc.dptr));
        CHECK_EQ(cuGraphAddMemFreeNode(&nodes[2], graph, NULL, 0, 4096), CUDA_ERROR_INVALID_VALUE);
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        for (unsigned i = 0; i < 3; i++)
                OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        OK(cuGraphExecDestroy(instance));
        OK(cuGraphDestroy(graph));
        CHECK_EQ(cuMemFree_v2(alloc.dptr), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(user_objects_live_as_long_as_a_graph_needs_them)
{
        struct exec_fixture exec = exec_start();
        CUuserObject object;
        CUgraphExec instance;
        CUgraph graph;
        int gone = 0;

        (void)exec;
        OK(cuGraphCreate(&graph, 0));
        OK(cuUserObjectCreate(&object, &gone, take_number, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphDestroy(graph));
        CHECK_EQ(gone, 0);
        OK(cuGraphExecDestroy(instance));
        CHECK_EQ(gone, 1);
}

SIM_TEST(a_drawing_names_every_kernel)
{
        struct exec_fixture exec = exec_start();
        CUgraphNode nodes[2];
        CUgraph graph = chain(exec_function(&exec, "short_kernel"), 2, nodes);
        char path[] = "/tmp/graph-XXXXXX", text[4096] = "";
        int fd = mkstemp(path);

        CHECK(fd >= 0);
        OK(cuGraphDebugDotPrint(graph, path, 0));
        CHECK(read(fd, text, sizeof text - 1) > 0);
        close(fd);
        unlink(path);
        CHECK(strncmp(text, "digraph", 7) == 0);
        CHECK(strstr(text, "short_kernel") != NULL);
        CHECK(strstr(text, "->") != NULL);
        CHECK_EQ(cuGraphDebugDotPrint(graph, "/nonexistent/x", 0), CUDA_ERROR_OPERATING_SYSTEM);
}

SIM_TEST(a_wide_graph_is_complete_when_its_stream_is)
{
        enum { WIDTH = 40 };
        static int numbers[WIDTH];
        struct exec_fixture exec = exec_start();
        CUgraphNode nodes[WIDTH], end;
        CUgraphExec instance;
        CUgraph graph;
        int last = 0;

        (void)exec;
        OK(cuGraphCreate(&graph, 0));
        for (unsigned i = 0; i < WIDTH; i++)
                nodes[i] = add_host(graph, NULL, 0, &numbers[i]);
        end = add_host(graph, nodes, WIDTH, &last);
        (void)end;
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuStreamSynchronize(NULL));
        CHECK_EQ(last, WIDTH + 1);
        for (unsigned i = 0; i < WIDTH; i++)
                CHECK(numbers[i] > 0);
}

SIM_TEST(an_instance_outlives_its_context)
{
        struct exec_fixture exec = exec_start();
        CUdevice device = exec.device;
        CUgraphExec instance;
        CUgraph graph;
        CUstream streams[4];
        int left = 0, right = 0;

        OK(cuGraphCreate(&graph, 0));
        add_host(graph, NULL, 0, &left);
        add_host(graph, NULL, 0, &right);
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphLaunch(instance, NULL));
        OK(cuCtxDestroy_v2(exec.context));
        OK(cuCtxCreate_v2(&exec.context, 0, device));
        CHECK_EQ(cuGraphLaunch(instance, NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        OK(cuGraphExecDestroy(instance));
        OK(cuGraphDestroy(graph));
        /* Its streams are nobody's: no two of these are one. */
        for (unsigned i = 0; i < 4; i++) {
                OK(cuStreamCreate(&streams[i], 0));
                for (unsigned j = 0; j < i; j++)
                        CHECK(streams[i] != streams[j]);
        }
}

SIM_TEST(a_graph_launch_costs_the_host_little)
{
        enum { COUNT = 100 };
        struct exec_fixture exec = exec_start();
        CUgraphNode nodes[COUNT];
        CUgraph graph = chain(exec_function(&exec, "short_kernel"), COUNT, nodes);
        CUgraphExec instance;
        double best_ns = 1e9;

        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        for (unsigned i = 0; i < 20; i++) {
                double begin = exec_now_ms(), ns;

                OK(cuGraphLaunch(instance, NULL));
                ns = (exec_now_ms() - begin) * 1e6 / COUNT;
                if (ns < best_ns)
                        best_ns = ns;
                OK(cuStreamSynchronize(NULL));
        }
        print_message("# a node takes %.0f ns\n", best_ns);
        CHECK(best_ns < 2000);
}

int main(void)
{
        return RUN(
                CASE(a_chain_takes_the_sum_of_its_kernels),
                CASE(branches_meet_again_before_what_follows),
                CASE(launches_of_one_instance_follow_each_other_in_any_stream),
                CASE(copies_fills_and_kernels_compute_together),
                CASE(an_update_takes_over_a_graph_of_the_same_shape_only),
                CASE(graphs_tell_their_nodes_and_edges), CASE(a_cycle_cannot_be_instantiated),
                CASE(a_child_graph_runs_instead_of_its_node), CASE(a_condition_chooses_what_runs),
                CASE(memory_of_a_graph_has_one_address_and_is_used_from_alloc_to_free),
                CASE(user_objects_live_as_long_as_a_graph_needs_them),
                CASE(a_drawing_names_every_kernel),
                CASE(a_wide_graph_is_complete_when_its_stream_is),
                CASE(an_instance_outlives_its_context), CASE(a_graph_launch_costs_the_host_little));
}
