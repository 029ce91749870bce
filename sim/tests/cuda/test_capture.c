/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of stream capture: what becomes a graph, and what spoils it. */
#include <pthread.h>

#include "exec.h"

static size_t node_count(CUgraph graph)
{
        size_t count = 0;

        OK(cuGraphGetNodes(graph, NULL, &count));
        return count;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

        OK(cuStreamIsCapturing(stream, &status));
        return status;
}

static CUstream stream_of(unsigned flags)
{
        CUstream stream = NULL;

        OK(cuStreamCreate(&stream, flags));
        return stream;
}

SIM_TEST(captured_work_runs_when_the_graph_is_launched)
{
        struct exec_fixture exec = exec_start();
        CUfunction add = exec_function(&exec, "add");
        CUstream stream = stream_of(CU_STREAM_NON_BLOCKING);
        unsigned n = 2, seed = 40, result = 0;
        CUgraphExec instance;
        CUdeviceptr word;
        CUgraph graph;
        void *params[] = { &word, &n };

        OK(cuMemAlloc_v2(&word, 4));
        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CHECK_EQ(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        OK(cuMemcpyHtoDAsync_v2(word, &seed, 4, stream));
        OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
        OK(cuMemcpyDtoHAsync_v2(&result, word, 4, stream));
        OK(cuStreamEndCapture(stream, &graph));
        CHECK_EQ(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
        CHECK_EQ(result, 0);
        CHECK_EQ(node_count(graph), 3);
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphLaunch(instance, stream));
        OK(cuStreamSynchronize(stream));
        CHECK_EQ(result, 42);
}

SIM_TEST(a_fork_by_events_is_two_branches)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "kernel_2ms");
        CUstream main_stream = stream_of(CU_STREAM_NON_BLOCKING), side = stream_of(0);
        CUgraphNode roots[4], from[8], to[8];
        size_t count = 4;
        CUevent fork, join;
        CUgraph graph;

        OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
        OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
        OK(cuStreamBeginCapture_v2(main_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(exec_run(kernel, main_stream));
        OK(cuEventRecord(fork, main_stream));
        OK(cuStreamWaitEvent(side, fork, 0));
        CHECK_EQ(status_of(side), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        OK(exec_run(kernel, side));
        OK(exec_run(kernel, main_stream));
        OK(cuEventRecord(join, side));
        CHECK_EQ(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
        CHECK_EQ(status_of(side), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
        CHECK_EQ(cuStreamEndCapture(main_stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

        OK(cuStreamBeginCapture_v2(main_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(exec_run(kernel, main_stream));
        OK(cuEventRecord(fork, main_stream));
        OK(cuStreamWaitEvent(side, fork, 0));
        OK(exec_run(kernel, side));
        OK(exec_run(kernel, main_stream));
        OK(cuEventRecord(join, side));
        OK(cuStreamWaitEvent(main_stream, join, 0));
        OK(cuStreamDestroy_v2(side)); /* it has come back */
        OK(exec_run(kernel, main_stream));
        OK(cuStreamEndCapture(main_stream, &graph));
        CHECK_EQ(node_count(graph), 4);
        OK(cuGraphGetRootNodes(graph, roots, &count));
        CHECK_EQ(count, 1);
        count = 8;
        OK(cuGraphGetEdges(graph, from, to, &count));
        CHECK_EQ(count, 4);
        OK(exec_run(kernel, main_stream));
        OK(cuCtxSynchronize());
}

SIM_TEST(a_branch_that_never_comes_back_is_an_error)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "short_kernel");
        CUstream origin = stream_of(CU_STREAM_NON_BLOCKING),
                 side = stream_of(CU_STREAM_NON_BLOCKING);
        CUgraph graph = (CUgraph)1;
        CUevent fork;

        OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
        OK(cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuEventRecord(fork, origin));
        OK(cuStreamWaitEvent(side, fork, 0));
        OK(exec_run(kernel, side));
        CHECK_EQ(cuStreamEndCapture(origin, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        CHECK(graph == NULL);
        CHECK_EQ(status_of(side), CU_STREAM_CAPTURE_STATUS_NONE);
}

SIM_TEST(calls_that_cannot_wait_spoil_the_capture)
{
        struct exec_fixture exec = exec_start();
        CUstream stream = stream_of(CU_STREAM_NON_BLOCKING);
        CUdeviceptr memory;
        CUgraph graph;

        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CHECK_EQ(cuMemAlloc_v2(&memory, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CHECK_EQ(exec_run(exec_function(&exec, "short_kernel"), stream),
                 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        OK(cuMemAlloc_v2(&memory, 4));

        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuMemAlloc_v2(&memory, 4));
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CHECK_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void *allocate(void *result)
{
        CUdeviceptr memory;
        CUcontext context = *(CUcontext *)result;

        OK(cuCtxSetCurrent(context));
        *(CUresult *)result = cuMemAlloc_v2(&memory, 4);
        return NULL;
}

static CUresult allocate_elsewhere(CUcontext context)
{
        union {
                CUcontext context;
                CUresult result;
        } shared = { context };
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, allocate, &shared), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        return shared.result;
}

SIM_TEST(modes_say_whose_calls_matter)
{
        struct exec_fixture exec = exec_start();
        CUstream stream = stream_of(CU_STREAM_NON_BLOCKING);
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        CUdeviceptr memory;
        CUgraph graph;

        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        OK(allocate_elsewhere(exec.context));
        OK(cuStreamEndCapture(stream, &graph));

        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CHECK_EQ(allocate_elsewhere(exec.context), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CHECK_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(cuThreadExchangeStreamCaptureMode(&mode));
        CHECK_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
        OK(cuMemAlloc_v2(&memory, 4));
        OK(cuThreadExchangeStreamCaptureMode(&mode));
        CHECK_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
        OK(cuStreamEndCapture(stream, &graph));
}

SIM_TEST(the_legacy_stream_cannot_be_used_beside_a_capturing_one)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "short_kernel");
        CUstream blocking = stream_of(CU_STREAM_DEFAULT), apart = stream_of(CU_STREAM_NON_BLOCKING);
        CUgraph graph;

        CHECK_EQ(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_RELAXED),
                 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
        CHECK_EQ(exec_run(kernel, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        CHECK_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        OK(cuStreamBeginCapture_v2(apart, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(exec_run(kernel, NULL));
        OK(cuStreamEndCapture(apart, &graph));
}

SIM_TEST(outside_work_cannot_be_waited_for)
{
        struct exec_fixture exec = exec_start();
        CUstream stream = stream_of(CU_STREAM_NON_BLOCKING),
                 other = stream_of(CU_STREAM_NON_BLOCKING);
        CUevent event;
        CUgraph graph;

        OK(cuEventCreate(&event, 0));
        OK(exec_run(exec_function(&exec, "short_kernel"), other));
        OK(cuEventRecord(event, other));
        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        CHECK_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        CHECK_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
        OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
        OK(cuStreamEndCapture(stream, &graph));
        CHECK_EQ(node_count(graph), 2);
}

SIM_TEST(two_captures_cannot_merge)
{
        CUstream first, second;
        CUgraph graph;
        CUevent event;

        exec_start();
        first = stream_of(CU_STREAM_NON_BLOCKING);
        second = stream_of(CU_STREAM_NON_BLOCKING);
        OK(cuEventCreate(&event, 0));
        OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuStreamBeginCapture_v2(second, CU_STREAM_CAPTURE_MODE_RELAXED));
        CHECK_EQ(cuStreamBeginCapture_v2(second, CU_STREAM_CAPTURE_MODE_RELAXED),
                 CUDA_ERROR_ILLEGAL_STATE);
        OK(cuEventRecord(event, first));
        CHECK_EQ(cuStreamWaitEvent(second, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
        CHECK_EQ(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK_EQ(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK_EQ(cuStreamEndCapture(second, &graph), CUDA_ERROR_ILLEGAL_STATE);
}

SIM_TEST(a_capture_can_be_queried_and_steered)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "short_kernel");
        CUstream stream = stream_of(CU_STREAM_NON_BLOCKING);
        CUDA_KERNEL_NODE_PARAMS params;
        CUstreamCaptureStatus status;
        const CUgraphNode *before;
        CUgraphNode first, extra;
        cuuint64_t id = 0;
        CUgraph graph, ended;
        size_t count;

        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(exec_run(kernel, stream));
        OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &before, &count));
        CHECK(id != 0);
        CHECK_EQ(count, 1);
        first = before[0];
        OK(cuGraphKernelNodeGetParams_v2(first, &params));
        CHECK(params.func == kernel);
        OK(cuGraphAddEmptyNode(&extra, graph, &first, 1));
        OK(cuStreamUpdateCaptureDependencies(stream, &extra, 1,
                                             CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        OK(exec_run(kernel, stream));
        OK(cuStreamEndCapture(stream, &ended));
        CHECK(ended == graph);
        count = 0;
        OK(cuGraphNodeGetDependentNodes(extra, NULL, &count));
        CHECK_EQ(count, 1);
}

SIM_TEST(a_capture_can_continue_a_graph)
{
        struct exec_fixture exec = exec_start();
        CUstream stream = stream_of(CU_STREAM_NON_BLOCKING);
        CUgraph graph, ended;
        CUgraphNode root;
        size_t count = 0;

        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphAddEmptyNode(&root, graph, NULL, 0));
        OK(cuStreamBeginCaptureToGraph(stream, graph, &root, NULL, 1,
                                       CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(exec_run(exec_function(&exec, "short_kernel"), stream));
        OK(cuStreamEndCapture(stream, &ended));
        CHECK(ended == graph);
        OK(cuGraphNodeGetDependentNodes(root, NULL, &count));
        CHECK_EQ(count, 1);
}

SIM_TEST(memory_can_be_allocated_in_a_capture)
{
        struct exec_fixture exec = exec_start();
        CUstream stream = stream_of(CU_STREAM_NON_BLOCKING);
        CUdeviceptr memory = 0;
        CUgraphExec instance;
        CUgraph graph;

        (void)exec;
        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(cuMemAllocAsync(&memory, 4096, stream));
        CHECK(memory != 0);
        OK(cuMemsetD8Async(memory, 1, 4096, stream));
        OK(cuMemFreeAsync(memory, stream));
        OK(cuStreamEndCapture(stream, &graph));
        CHECK_EQ(node_count(graph), 3);
        OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
        OK(cuGraphLaunch(instance, stream));
        OK(cuGraphLaunch(instance, stream));
        OK(cuStreamSynchronize(stream));
}

int main(void)
{
        return RUN(CASE(captured_work_runs_when_the_graph_is_launched),
                   CASE(a_fork_by_events_is_two_branches),
                   CASE(a_branch_that_never_comes_back_is_an_error),
                   CASE(calls_that_cannot_wait_spoil_the_capture),
                   CASE(modes_say_whose_calls_matter),
                   CASE(the_legacy_stream_cannot_be_used_beside_a_capturing_one),
                   CASE(outside_work_cannot_be_waited_for), CASE(two_captures_cannot_merge),
                   CASE(a_capture_can_be_queried_and_steered), CASE(a_capture_can_continue_a_graph),
                   CASE(memory_can_be_allocated_in_a_capture));
}
