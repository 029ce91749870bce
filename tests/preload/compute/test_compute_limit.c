/* SPDX-License-Identifier: Apache-2.0 */
/* A limit of compute holds on every route of a launch, and whatever the work looks like: by the
 * machine's own counters (judge.h). */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"

enum { LIMIT = 20, RUN_MS = 400 };

static void begin(struct worker *worker)
{
        worker_machine("20");
        worker_start(worker);
}

static void check_rounds(void (*round)(struct worker *worker))
{
        struct worker worker;

        begin(&worker);
        judge_rounds(LIMIT, &worker, round, JUDGE_RUN_MS);
}

static void launch_kernel(struct worker *w)
{
        CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_2MS], 1, 1, 1, 32, 1, 1, 0, w->stream, NULL,
                                NULL),
                 CUDA_SUCCESS);
}

static void launch_kernel_ptsz(struct worker *w)
{
        CHECK_EQ(cuLaunchKernel_ptsz(w->kernels[0][KERNEL_2MS], 1, 1, 1, 32, 1, 1, 0, NULL, NULL,
                                     NULL),
                 CUDA_SUCCESS);
}

static CUlaunchConfig config(CUstream stream)
{
        CUlaunchConfig c;

        memset(&c, 0, sizeof c);
        c.gridDimX = c.gridDimY = c.gridDimZ = c.blockDimY = c.blockDimZ = 1;
        c.blockDimX = 32;
        c.hStream = stream;
        return c;
}

static void launch_ex(struct worker *w)
{
        CUlaunchConfig c = config(w->stream);

        CHECK_EQ(cuLaunchKernelEx(&c, w->kernels[0][KERNEL_2MS], NULL, NULL), CUDA_SUCCESS);
}

static void launch_ex_ptsz(struct worker *w)
{
        CUlaunchConfig c = config(NULL);

        CHECK_EQ(cuLaunchKernelEx_ptsz(&c, w->kernels[0][KERNEL_2MS], NULL, NULL), CUDA_SUCCESS);
}

static void launch_cooperative(struct worker *w)
{
        CHECK_EQ(cuLaunchCooperativeKernel(w->kernels[0][KERNEL_2MS], 1, 1, 1, 32, 1, 1, 0,
                                           w->stream, NULL),
                 CUDA_SUCCESS);
}

static void launch_multi_device(struct worker *w)
{
        CUDA_LAUNCH_PARAMS launch;

        memset(&launch, 0, sizeof launch);
        launch.function = w->kernels[0][KERNEL_2MS];
        launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
        launch.blockDimX = 32;
        launch.blockDimY = launch.blockDimZ = 1;
        launch.hStream = w->stream;
        CHECK_EQ(cuLaunchCooperativeKernelMultiDevice(&launch, 1, 0), CUDA_SUCCESS);
}

static void launch_old(struct worker *w)
{
        CHECK_EQ(cuFuncSetBlockShape(w->kernels[0][KERNEL_2MS], 32, 1, 1), CUDA_SUCCESS);
        CHECK_EQ(cuLaunch(w->kernels[0][KERNEL_2MS]), CUDA_SUCCESS);
}

static void launch_grid(struct worker *w)
{
        CHECK_EQ(cuFuncSetBlockShape(w->kernels[0][KERNEL_2MS], 32, 1, 1), CUDA_SUCCESS);
        CHECK_EQ(cuLaunchGrid(w->kernels[0][KERNEL_2MS], 1, 1), CUDA_SUCCESS);
}

static void launch_grid_async(struct worker *w)
{
        CHECK_EQ(cuFuncSetBlockShape(w->kernels[0][KERNEL_2MS], 32, 1, 1), CUDA_SUCCESS);
        CHECK_EQ(cuLaunchGridAsync(w->kernels[0][KERNEL_2MS], 1, 1, w->stream), CUDA_SUCCESS);
}

static CUgraphExec graph_of(struct worker *w, unsigned kernel, unsigned count)
{
        CUgraphExec instance;
        CUgraph graph;
        size_t nodes = 0;

        CHECK_EQ(cuStreamBeginCapture_v2(w->stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        for (unsigned i = 0; i < count; i++)
                CHECK_EQ(cuLaunchKernel(w->kernels[0][kernel], 1, 1, 1, 32, 1, 1, 0, w->stream,
                                        NULL, NULL),
                         CUDA_SUCCESS);
        CHECK_EQ(cuStreamEndCapture(w->stream, &graph), CUDA_SUCCESS);
        CHECK_EQ(cuGraphGetNodes(graph, NULL, &nodes), CUDA_SUCCESS);
        CHECK_EQ(nodes, count); /* nothing of ours among them */
        CHECK_EQ(cuGraphInstantiateWithFlags(&instance, graph, 0), CUDA_SUCCESS);
        return instance;
}

static CUgraphExec instance;

static void launch_graph(struct worker *w)
{
        CHECK_EQ(cuGraphLaunch(instance, w->stream), CUDA_SUCCESS);
}

static void launch_graph_ptsz(struct worker *w)
{
        (void)w;
        CHECK_EQ(cuGraphLaunch_ptsz(instance, NULL), CUDA_SUCCESS);
}

SIM_TEST(kernels)
{
        check_rounds(launch_kernel);
}

SIM_TEST(kernels_on_the_thread_s_own_stream)
{
        check_rounds(launch_kernel_ptsz);
}

SIM_TEST(kernels_with_attributes)
{
        check_rounds(launch_ex);
}

SIM_TEST(kernels_with_attributes_on_the_thread_s_own_stream)
{
        check_rounds(launch_ex_ptsz);
}

SIM_TEST(cooperative_kernels)
{
        check_rounds(launch_cooperative);
}

SIM_TEST(cooperative_kernels_of_several_devices)
{
        check_rounds(launch_multi_device);
}

SIM_TEST(launches_of_the_old_interface)
{
        check_rounds(launch_old);
}

SIM_TEST(grids_of_the_old_interface)
{
        check_rounds(launch_grid);
}

SIM_TEST(grids_of_the_old_interface_on_a_stream)
{
        check_rounds(launch_grid_async);
}

SIM_TEST(graphs)
{
        struct worker worker;

        begin(&worker);
        instance = graph_of(&worker, KERNEL_100US, 40);
        judge_rounds(LIMIT, &worker, launch_graph, JUDGE_RUN_MS);
}

SIM_TEST(graphs_on_the_thread_s_own_stream)
{
        struct worker worker;

        begin(&worker);
        instance = graph_of(&worker, KERNEL_100US, 40);
        judge_rounds(LIMIT, &worker, launch_graph_ptsz, JUDGE_RUN_MS);
}

static void launch_short(struct worker *w)
{
        for (unsigned i = 0; i < 20; i++)
                CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_100US], 1, 1, 1, 32, 1, 1, 0,
                                        w->stream, NULL, NULL),
                         CUDA_SUCCESS);
}

SIM_TEST(short_kernels_without_a_pause)
{
        check_rounds(launch_short);
}

static void launch_long(struct worker *w)
{
        CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_100MS], 1, 1, 1, 32, 1, 1, 0, w->stream, NULL,
                                NULL),
                 CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(w->stream), CUDA_SUCCESS);
}

SIM_TEST(a_long_kernel_and_a_wait_again_and_again)
{
        struct worker worker;

        begin(&worker);
        launch_long(
                &worker); /* what an idle container has saved, and the first, of unknown length */
        judge_rounds(LIMIT, &worker, launch_long, 3 * JUDGE_RUN_MS);
}

/* More blocks than 32 bits, or 63, can count. */
static void launch_huge(struct worker *w)
{
        CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_2MS], 2147483647, 65535, 65535, 32, 1, 1, 0,
                                w->stream, NULL, NULL),
                 CUDA_SUCCESS);
}

SIM_TEST(a_grid_beyond_every_counter)
{
        check_rounds(launch_huge);
}

/* Each time another grid: nothing is known of any of them. */
static void launch_new(struct worker *w)
{
        static unsigned grid;

        CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_2MS], ++grid, 1, 1, 32, 1, 1, 0, w->stream,
                                NULL, NULL),
                 CUDA_SUCCESS);
}

SIM_TEST(kernels_that_were_never_seen_before)
{
        check_rounds(launch_new);
}

static void launch_spread(struct worker *w)
{
        static CUstream streams[4];

        for (unsigned i = 0; i < 16; i++) {
                if (!streams[i % 4])
                        CHECK_EQ(cuStreamCreate(&streams[i % 4], CU_STREAM_NON_BLOCKING),
                                 CUDA_SUCCESS);
                CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_100US], 1, 1, 1, 32, 1, 1, 0,
                                        streams[i % 4], NULL, NULL),
                         CUDA_SUCCESS);
        }
}

SIM_TEST(several_streams)
{
        check_rounds(launch_spread);
}

/* Of whoever is at work beside us. */
static struct load others_measure(void *closure)
{
        (void)closure;
        usleep(JUDGE_WARM_MS * 1000);
        const struct worker_time begin_time = worker_time(0);
        usleep(JUDGE_RUN_MS * 1000);
        return worker_load(0, begin_time);
}

static pid_t process_start(void)
{
        struct worker worker;
        pid_t pid = fork();

        if (pid)
                return pid;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a case that fails ends at once */
        worker_start(&worker);
        for (;;)
                launch_kernel(&worker);
}

SIM_TEST(processes_of_one_container_share_one_limit)
{
        pid_t pids[4];

        worker_machine("20");
        for (unsigned i = 0; i < 4; i++)
                pids[i] = process_start();
        worker_watch(pids, 4);
        judge_limit(LIMIT, others_measure, NULL);
        for (unsigned i = 0; i < 4; i++) {
                kill(pids[i], SIGKILL);
                waitpid(pids[i], NULL, 0);
        }
}

/* In its slow path most of the time: killed there, it leaves the others their limit. */
SIM_TEST(killed_while_it_waits_a_process_takes_nothing_along)
{
        worker_machine("20");
        pid_t witness = process_start();
        for (unsigned i = 0; i < 12; i++) {
                pid_t victim = process_start();
                usleep(30000 + i * 777);
                kill(victim, SIGKILL);
                waitpid(victim, NULL, 0);
        }
        worker_watch(&witness, 1);
        judge_limit(LIMIT, others_measure, NULL);
        kill(witness, SIGKILL);
        waitpid(witness, NULL, 0);
}

static void launch_both(struct worker *w)
{
        for (unsigned gpu = 0; gpu < WORKER_GPUS; gpu++) {
                CHECK_EQ(cuCtxSetCurrent(w->contexts[gpu]), CUDA_SUCCESS);
                CHECK_EQ(cuLaunchKernel(w->kernels[gpu][KERNEL_2MS], 1, 1, 1, 32, 1, 1, 0, NULL,
                                        NULL, NULL),
                         CUDA_SUCCESS);
        }
}

/* Of the GPU that is farther from its limit. */
static struct load both_measure(void *closure)
{
        worker_run(closure, launch_both, JUDGE_WARM_MS);
        const struct worker_time times[WORKER_GPUS] = { worker_time(0), worker_time(1) };
        worker_run(closure, launch_both, JUDGE_RUN_MS);
        const struct load first = worker_load(0, times[0]), second = worker_load(1, times[1]);

        return fabs(first.percent - LIMIT) > fabs(second.percent - LIMIT) ? first : second;
}

SIM_TEST(each_gpu_has_the_limit)
{
        struct worker worker;

        begin(&worker);
        judge_limit(LIMIT, both_measure, &worker);
}

SIM_TEST(without_a_limit_nothing_waits)
{
        struct worker worker;

        worker_machine(NULL);
        worker_start(&worker);
        CHECK(worker_run(&worker, launch_kernel, RUN_MS).percent > 60);
}

/* Deep in debt: what is captured costs nothing and is not held up. */
SIM_TEST(a_capture_is_not_held_up)
{
        struct worker worker;

        begin(&worker);
        launch_long(&worker);
        struct worker_time begin_time = worker_time(0);
        graph_of(&worker, KERNEL_2MS, 100);
        CHECK(worker_time(0).clock_ns - begin_time.clock_ns < UINT64_C(200000000));
}

static void *launch_beside(void *closure)
{
        struct worker *worker = closure;
        CUstream stream;

        CHECK_EQ(cuCtxSetCurrent(worker->contexts[0]), CUDA_SUCCESS);
        CHECK_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        for (unsigned i = 0; i < 40; i++)
                CHECK_EQ(cuLaunchKernel(worker->kernels[0][KERNEL_100US], 1, 1, 1, 32, 1, 1, 0,
                                        stream, NULL, NULL),
                         CUDA_SUCCESS);
        return NULL;
}

/* A capture of the strictest kind: calls of ours, on other streams and threads, must not end it. */
SIM_TEST(a_capture_survives_launches_beside_it)
{
        struct worker worker;
        pthread_t thread;
        CUgraph graph;

        begin(&worker);
        CHECK_EQ(cuStreamBeginCapture_v2(worker.stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                 CUDA_SUCCESS);
        CHECK_EQ(pthread_create(&thread, NULL, launch_beside, &worker), 0);
        pthread_join(thread, NULL);
        CHECK_EQ(cuStreamEndCapture(worker.stream, &graph), CUDA_SUCCESS);
}

/* It might wait for what comes on another stream: so that is let through in the end. */
SIM_TEST(work_that_does_not_end_does_not_hold_other_streams_up_for_ever)
{
        struct worker w;
        CUstream other;

        begin(&w);
        CHECK_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        CHECK_EQ(
                cuLaunchKernel(w.kernels[0][KERNEL_2S], 1, 1, 1, 32, 1, 1, 0, w.stream, NULL, NULL),
                CUDA_SUCCESS);
        for (unsigned i = 0; i < 5; i++)
                CHECK_EQ(cuLaunchKernel(w.kernels[0][KERNEL_100US], 1, 1, 1, 32, 1, 1, 0, other,
                                        NULL, NULL),
                         CUDA_SUCCESS);
        CHECK_EQ(cuStreamQuery(w.stream), CUDA_ERROR_NOT_READY);
}

static void *launch_for_ever(void *closure)
{
        struct worker *w = closure;

        CHECK_EQ(cuCtxSetCurrent(w->contexts[0]), CUDA_SUCCESS);
        for (;;)
                launch_short(w);
        return NULL;
}

/* Whatever the parent's threads hold at that moment; the driver itself refuses the child. */
SIM_TEST(a_forked_child_is_held_up_by_nothing_of_its_parent_s)
{
        struct worker w;
        pthread_t thread;

        begin(&w);
        CHECK_EQ(pthread_create(&thread, NULL, launch_for_ever, &w), 0);
        for (unsigned i = 0; i < 20; i++) {
                usleep(3000 + i * 171);
                pid_t pid = fork();
                if (pid == 0) {
                        alarm(10);
                        CUresult r = cuLaunchKernel(w.kernels[0][KERNEL_100US], 1, 1, 1, 32, 1, 1,
                                                    0, w.stream, NULL, NULL);
                        cuCtxSynchronize();
                        _exit(r == CUDA_SUCCESS);
                }
                int status;
                waitpid(pid, &status, 0);
                CHECK_EQ(status, 0);
        }
}

int main(void)
{
        return RUN(CASE(kernels), CASE(kernels_on_the_thread_s_own_stream),
                   CASE(kernels_with_attributes),
                   CASE(kernels_with_attributes_on_the_thread_s_own_stream),
                   CASE(cooperative_kernels), CASE(cooperative_kernels_of_several_devices),
                   CASE(launches_of_the_old_interface), CASE(grids_of_the_old_interface),
                   CASE(grids_of_the_old_interface_on_a_stream), CASE(graphs),
                   CASE(graphs_on_the_thread_s_own_stream), CASE(short_kernels_without_a_pause),
                   CASE(a_long_kernel_and_a_wait_again_and_again),
                   CASE(a_grid_beyond_every_counter), CASE(kernels_that_were_never_seen_before),
                   CASE(several_streams), CASE(processes_of_one_container_share_one_limit),
                   CASE(killed_while_it_waits_a_process_takes_nothing_along),
                   CASE(each_gpu_has_the_limit), CASE(without_a_limit_nothing_waits),
                   CASE(a_capture_is_not_held_up), CASE(a_capture_survives_launches_beside_it),
                   CASE(work_that_does_not_end_does_not_hold_other_streams_up_for_ever),
                   CASE(a_forked_child_is_held_up_by_nothing_of_its_parent_s));
}
