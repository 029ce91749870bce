/* SPDX-License-Identifier: Apache-2.0 */
/* launch_cost: what a launch costs a program, in nanoseconds, where kernels take their time (1 µs) and
 * the container has enough of it: run bare, and with libvgpu.so preloaded under a limit.
 *
 *   launch_cost machine PATH    makes the machine to measure on
 *   launch_cost calls [BURSTS]  "metric value" lines, each of so many bursts (301) */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_clock.h"
#include "bench_must.h"
#include "clock.h"
#include "cuda_prototypes.h"
#include "machine.h"

enum { BURSTS_MOST = 301, BURST = 64, THREADS = 2 };

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry k1us()\n{\nret;\n}\n";

static struct bench {
        CUcontext context;
        CUfunction kernel;
        CUgraphExec graph;
        CUdeviceptr memory;
        unsigned bursts;
} bench;

enum work { WORK_KERNEL, WORK_GRAPH, WORK_FILL };

struct thread {
        pthread_t thread;
        enum work work;
        CUstream stream;
        double ns; /* the fastest tenth: others on the host slow a burst down, nothing speeds it up */
};

static void submit(const struct thread *thread)
{
        if (thread->work == WORK_GRAPH)
                MUST(cuGraphLaunch(bench.graph, thread->stream));
        else if (thread->work == WORK_FILL) /* of nothing: the call is what is measured */
                MUST(cuMemsetD8Async(bench.memory, 0, 0, thread->stream));
        else
                MUST(cuLaunchKernel(bench.kernel, 1, 1, 1, 32, 1, 1, 0, thread->stream, NULL,
                                    NULL));
}

/* A burst within what the first launch of the round asked for in advance. */
static double burst(const struct thread *thread)
{
        submit(thread);
        submit(thread); /* one in some is looked at by itself */
        uint64_t begin_ns = clock_now_ns();
        for (unsigned i = 0; i < BURST; i++)
                submit(thread);
        double ns = (double)(clock_now_ns() - begin_ns) / BURST;
        MUST(cuStreamSynchronize(thread->stream));
        usleep(100);
        return ns;
}

static void *thread_run(void *closure)
{
        struct thread *thread = closure;
        double results[BURSTS_MOST];

        MUST(cuCtxSetCurrent(bench.context));
        MUST(cuStreamCreate(&thread->stream, CU_STREAM_NON_BLOCKING));
        for (unsigned i = 0; i < bench.bursts; i++)
                results[i] = burst(thread);
        bench_median(results, bench.bursts); /* sorts */
        thread->ns = results[bench.bursts / 10];
        return NULL;
}

static double threads_run(unsigned count, enum work work)
{
        struct thread threads[THREADS] = { { .work = work }, { .work = work } };
        double sum = 0;

        for (unsigned i = 0; i < count; i++)
                pthread_create(&threads[i].thread, NULL, thread_run, &threads[i]);
        for (unsigned i = 0; i < count; i++) {
                pthread_join(threads[i].thread, NULL);
                sum += threads[i].ns;
        }
        return sum / count;
}

static void bench_open(void)
{
        CUstream stream;
        CUmodule module;
        CUgraph graph;
        CUevent event;

        MUST(cuInit(0));
        MUST(cuDevicePrimaryCtxRetain(&bench.context, 0));
        MUST(cuCtxSetCurrent(bench.context));
        MUST(cuMemAlloc_v2(&bench.memory, 1));
        MUST(cuModuleLoadData(&module, ptx));
        MUST(cuModuleGetFunction(&bench.kernel, module, "k1us"));
        MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        MUST(cuLaunchKernel(bench.kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
        MUST(cuStreamEndCapture(stream, &graph));
        MUST(cuGraphInstantiateWithFlags(&bench.graph, graph, 0));
        /* From the first event on, the simulated driver keeps the ends of launches: with and without
         * the library alike. */
        MUST(cuEventCreate(&event, 0));
        MUST(cuEventRecord(event, stream));
        MUST(cuEventSynchronize(event));
}

static int machine_make(const char *path)
{
        const struct machine_kernel_time kernel = { .name = "k1us", .microseconds = 1 };
        struct machine_spec spec;
        struct err e = { 0 };

        machine_spec_init(&spec);
        spec.kernels = &kernel;
        spec.kernel_count = 1;
        if (machine_create(path, &spec, &e) == 0)
                return 0;
        fprintf(stderr, "launch_cost: %s\n", e.text);
        return 1;
}

int main(int argc, char **argv)
{
        if (argc == 3 && strcmp(argv[1], "machine") == 0)
                return machine_make(argv[2]);
        bench.bursts = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : BURSTS_MOST;
        if (argc < 2 || argc > 3 || strcmp(argv[1], "calls") != 0 || bench.bursts < 1 ||
            bench.bursts > BURSTS_MOST) {
                fputs("Usage: launch_cost machine PATH | calls [BURSTS]\n", stderr);
                return 2;
        }
        bench_open();
        printf("launch %.2f\n", threads_run(1, WORK_KERNEL));
        printf("launch_2_threads %.2f\n", threads_run(2, WORK_KERNEL));
        printf("graph_launch %.2f\n", threads_run(1, WORK_GRAPH));
        printf("fill %.2f\n", threads_run(1, WORK_FILL));
        return 0;
}
