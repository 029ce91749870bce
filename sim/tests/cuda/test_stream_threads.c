/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events, graphs and captures from many threads at once. */
#include <pthread.h>

#include "exec.h"

enum { THREADS = 6, ROUNDS = 60 };

struct work {
        struct exec_fixture exec;
        CUstream shared; /* all threads use it */
        CUevent event;   /* and record this */
        CUdeviceptr word;
        CUfunction kernel, add;
};

static void *crowd(void *closure)
{
        struct work *work = closure;
        unsigned one = 1;
        void *params[] = { &work->word, &one };
        CUstream own;
        CUevent mine;

        OK(cuCtxSetCurrent(work->exec.context));
        OK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
        OK(cuEventCreate(&mine, 0));
        for (unsigned i = 0; i < ROUNDS; i++) {
                CUresult r;

                OK(cuLaunchKernel(work->add, 1, 1, 1, 1, 1, 1, 0, work->shared, params, NULL));
                OK(exec_run(work->kernel, own));
                OK(cuEventRecord(mine, own));
                OK(cuStreamWaitEvent(work->shared, mine, 0));
                OK(cuEventRecord(work->event, work->shared));
                OK(cuStreamWaitEvent(own, work->event, 0));
                r = cuEventQuery(work->event);
                CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY);
                if (i % 8 == 0)
                        OK(cuStreamSynchronize(own));
        }
        OK(cuStreamSynchronize(own));
        OK(cuEventDestroy_v2(mine));
        OK(cuStreamDestroy_v2(own));
        return NULL;
}

SIM_TEST(a_crowd_on_one_stream_loses_no_work)
{
        struct work work = { .exec = exec_start() };
        pthread_t threads[THREADS];
        unsigned sum = 0;

        work.kernel = exec_function(&work.exec, "short_kernel");
        work.add = exec_function(&work.exec, "add");
        OK(cuMemAlloc_v2(&work.word, 4));
        OK(cuMemsetD32_v2(work.word, 0, 1));
        OK(cuCtxSynchronize()); /* a non-blocking stream would not wait for it */
        OK(cuStreamCreate(&work.shared, CU_STREAM_NON_BLOCKING));
        OK(cuEventCreate(&work.event, CU_EVENT_DISABLE_TIMING));
        for (unsigned i = 0; i < THREADS; i++)
                CHECK_EQ(pthread_create(&threads[i], NULL, crowd, &work), 0);
        for (unsigned i = 0; i < THREADS; i++)
                CHECK_EQ(pthread_join(threads[i], NULL), 0);
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH_v2(&sum, work.word, 4));
        CHECK_EQ(sum, THREADS * ROUNDS);
}

static void *capture_alone(void *closure)
{
        struct work *work = closure;
        CUstream stream;

        OK(cuCtxSetCurrent(work->exec.context));
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (unsigned i = 0; i < ROUNDS / 2; i++) {
                CUgraphExec instance;
                CUgraph graph;

                OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
                for (unsigned j = 0; j < 3; j++)
                        OK(exec_run(work->kernel, stream));
                OK(cuStreamEndCapture(stream, &graph));
                OK(cuGraphInstantiateWithFlags(&instance, graph, 0));
                OK(cuGraphLaunch(instance, stream));
                OK(cuGraphLaunch(instance, work->shared));
                OK(cuGraphExecDestroy(instance));
                OK(cuGraphDestroy(graph));
        }
        OK(cuStreamSynchronize(stream));
        return NULL;
}

SIM_TEST(each_thread_captures_for_itself)
{
        struct work work = { .exec = exec_start() };
        pthread_t threads[THREADS];

        work.kernel = exec_function(&work.exec, "short_kernel");
        OK(cuStreamCreate(&work.shared, CU_STREAM_NON_BLOCKING));
        for (unsigned i = 0; i < THREADS; i++)
                CHECK_EQ(pthread_create(&threads[i], NULL, capture_alone, &work), 0);
        for (unsigned i = 0; i < THREADS; i++)
                CHECK_EQ(pthread_join(threads[i], NULL), 0);
        OK(cuCtxSynchronize());
}

int main(void)
{
        return RUN(CASE(a_crowd_on_one_stream_loses_no_work),
                   CASE(each_thread_captures_for_itself));
}
