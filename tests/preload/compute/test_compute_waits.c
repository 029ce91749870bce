/* SPDX-License-Identifier: Apache-2.0 */
/* The time for which a stream waits for the host, for memory or for another stream's event is no work of
 * the GPU: the container is not charged for it. By the machine's own counters. */
#include <stdlib.h>
#include <unistd.h>

#include "worker.h"

enum { STREAMS = 3, RUN_MS = 500, MOST_PERCENT = 140, SLACK_MS = 6 };

static struct {
        CUstream streams[STREAMS];
        CUevent event;
        CUdeviceptr memory;
        unsigned rounds;
} waits;

static void launch(const struct worker *w, unsigned stream)
{
        CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_100US], 1, 1, 1, 32, 1, 1, 0,
                                waits.streams[stream], NULL, NULL),
                 CUDA_SUCCESS);
}

/* Each stream does some work and something else alternately; what is charged is the work. */
static void check_rounds(void (*round)(struct worker *worker))
{
        struct worker worker;

        worker_machine("90");
        worker_start(&worker);
        for (unsigned i = 0; i < STREAMS; i++)
                CHECK_EQ(cuStreamCreate(&waits.streams[i], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        CHECK_EQ(cuEventCreate(&waits.event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&waits.memory, 4), CUDA_SUCCESS);
        CHECK_EQ(cuMemsetD32_v2(waits.memory, 0, 1), CUDA_SUCCESS);
        worker_run(&worker, round, RUN_MS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        const uint64_t done_ns = worker_time(0).busy_ns, counted_ns = worker_counted_ns(0);
        if (counted_ns > done_ns * MOST_PERCENT / 100 + SLACK_MS * UINT64_C(1000000))
                fail_msg("%.1f ms counted, %.1f done", (double)counted_ns / 1e6,
                         (double)done_ns / 1e6);
        CHECK(done_ns > SLACK_MS * UINT64_C(1000000));
        CHECK(counted_ns + SLACK_MS * UINT64_C(1000000) > done_ns * 9 / 10);
}

static void host_ms(void *unused)
{
        (void)unused;
        usleep(1000);
}

static void host_ms_old(CUstream stream, CUresult status, void *unused)
{
        (void)stream, (void)status;
        host_ms(unused);
}

static void host_function(struct worker *w)
{
        for (unsigned i = 0; i < STREAMS; i++) {
                launch(w, i);
                CHECK_EQ(cuLaunchHostFunc(waits.streams[i], host_ms, NULL), CUDA_SUCCESS);
        }
}

static void callback(struct worker *w)
{
        for (unsigned i = 0; i < STREAMS; i++) {
                launch(w, i);
                CHECK_EQ(cuStreamAddCallback(waits.streams[i], host_ms_old, NULL, 0), CUDA_SUCCESS);
        }
}

static void host_function_alone(struct worker *w)
{
        launch(w, 0);
        launch(w, 0);
        CHECK_EQ(cuLaunchHostFunc(waits.streams[0], host_ms, NULL), CUDA_SUCCESS);
}

static void event(struct worker *w)
{
        launch(w, 0);
        CHECK_EQ(cuLaunchHostFunc(waits.streams[0], host_ms, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuEventRecord(waits.event, waits.streams[0]), CUDA_SUCCESS);
        for (unsigned i = 1; i < STREAMS; i++) {
                launch(w, i);
                CHECK_EQ(cuStreamWaitEvent(waits.streams[i], waits.event, 0), CUDA_SUCCESS);
                launch(w, i);
        }
}

static void value(struct worker *w)
{
        for (unsigned i = 0; i < STREAMS; i++) {
                launch(w, i);
                CHECK_EQ(
                        cuStreamWaitValue32_v2(waits.streams[i], waits.memory, waits.rounds + 1, 0),
                        CUDA_SUCCESS);
                launch(w, i);
        }
        usleep(1500);
        waits.rounds++;
        CHECK_EQ(cuMemsetD32_v2(waits.memory, waits.rounds, 1), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

SIM_TEST(host_functions)
{
        check_rounds(host_function);
}

SIM_TEST(host_functions_of_one_stream)
{
        check_rounds(host_function_alone);
}

SIM_TEST(callbacks)
{
        check_rounds(callback);
}

SIM_TEST(events_behind_host_functions)
{
        check_rounds(event);
}

SIM_TEST(values_in_memory)
{
        check_rounds(value);
}

int main(void)
{
        return RUN(CASE(host_functions), CASE(host_functions_of_one_stream), CASE(callbacks),
                   CASE(events_behind_host_functions), CASE(values_in_memory));
}
