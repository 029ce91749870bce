/* SPDX-License-Identifier: Apache-2.0 */
/* share_programs: what programs do with a GPU besides launching in a loop: lives that are short, contexts
 * that are, callbacks, work that changes under its name. On share_load's machine.
 *
 *   share_programs KIND SECONDS          works so long without a pause; "kinds" lists the kinds
 *   share_programs lives END SECONDS N   N programs at a time, one after another: a kernel of 20 ms each,
 *                                        and the END of its process; "ends" lists those */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_must.h"
#include "clock.h"
#include "cuda_prototypes.h"

enum { STREAMS = 4, LIVES_MOST = 16, SPIN_MOST_MS = 100 };

static const char ptx[] = ".version 6.3\n.target sm_70\n.address_size 64\n"
                          ".visible .entry k300us()\n{\nret;\n}\n"
                          ".visible .entry k1ms()\n{\nret;\n}\n"
                          ".visible .entry k5ms()\n{\nret;\n}\n"
                          ".visible .entry k20ms()\n{\nret;\n}\n"
                          ".visible .entry k500ms()\n{\nret;\n}\n"
                          ".visible .entry spin(.param .u32 ns)\n{\n.reg .u32 %r1;\n"
                          "ld.param.u32 %r1, [ns];\nnanosleep.u32 %r1;\nret;\n}\n";
static const char *const names[] = { "k300us", "k1ms", "k5ms", "k20ms", "k500ms", "spin" };
enum { K300US, K1MS, K5MS, K20MS, K500MS, SPIN, KERNELS };

struct program {
        CUcontext context;
        CUmodule module;
        CUfunction kernels[KERNELS];
        CUstream streams[STREAMS];
        CUgraphExec graph; /* of one kernel */
        CUgraphNode node;
        CUdeviceptr memory;
        unsigned rounds;
};

static void context_open(struct program *p)
{
        MUST(cuCtxCreate_v2(&p->context, 0, 0));
        MUST(cuModuleLoadData(&p->module, ptx));
        for (unsigned i = 0; i < KERNELS; i++)
                MUST(cuModuleGetFunction(&p->kernels[i], p->module, names[i]));
}

static void program_open(struct program *p)
{
        MUST(cuInit(0));
        context_open(p);
        for (unsigned i = 0; i < STREAMS; i++)
                MUST(cuStreamCreate(&p->streams[i], CU_STREAM_NON_BLOCKING));
        MUST(cuMemAlloc_v2(&p->memory, 1 << 20));
}

static void launch(const struct program *p, unsigned kernel, unsigned stream)
{
        MUST(cuLaunchKernel(p->kernels[kernel], 1, 1, 1, 1, 1, 1, 0, p->streams[stream], NULL,
                            NULL));
}

/* A kernel that takes so long, whatever it is called. */
static void launch_spin(const struct program *p, unsigned ns)
{
        void *params[] = { &ns };

        MUST(cuLaunchKernel(p->kernels[SPIN], 1, 1, 1, 1, 1, 1, 0, p->streams[0], params, NULL));
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

static void k1ms(struct program *p)
{
        launch(p, K1MS, 0);
}

static void long_sync(struct program *p)
{
        launch(p, K500MS, 0);
        MUST(cuStreamSynchronize(p->streams[0]));
}

static void contexts(struct program *p)
{
        MUST(cuCtxDestroy_v2(p->context));
        context_open(p);
        MUST(cuLaunchKernel(p->kernels[K20MS], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void callbacks(struct program *p)
{
        for (unsigned i = 0; i < STREAMS; i++) {
                launch(p, K300US, i);
                MUST(cuLaunchHostFunc(p->streams[i], host_ms, NULL));
        }
}

static void callbacks_old(struct program *p)
{
        for (unsigned i = 0; i < STREAMS; i++) {
                launch(p, K300US, i);
                MUST(cuStreamAddCallback(p->streams[i], host_ms_old, NULL, 0));
        }
}

static void callbacks_sync(struct program *p)
{
        callbacks(p);
        MUST(cuCtxSynchronize());
}

/* A stream that waits for another's event: the wait is no work. */
static void events(struct program *p)
{
        static CUevent event;

        if (!event)
                MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        launch(p, K300US, 0);
        MUST(cuLaunchHostFunc(p->streams[0], host_ms, NULL));
        MUST(cuEventRecord(event, p->streams[0]));
        for (unsigned i = 1; i < STREAMS; i++) {
                MUST(cuStreamWaitEvent(p->streams[i], event, 0));
                launch(p, K300US, i);
        }
}

/* A value in memory that the host writes later. */
static void values(struct program *p)
{
        for (unsigned i = 0; i < STREAMS; i++) {
                launch(p, K300US, i);
                MUST(cuStreamWaitValue32_v2(p->streams[i], p->memory, p->rounds + 1, 0));
                launch(p, K300US, i);
        }
        usleep(1000);
        p->rounds++;
        MUST(cuMemsetD32_v2(p->memory, p->rounds, 1));
        MUST(cuCtxSynchronize());
}

static void host_nodes(struct program *p)
{
        if (!p->graph) {
                CUgraph graph;

                MUST(cuStreamBeginCapture_v2(p->streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
                launch(p, K300US, 0);
                MUST(cuLaunchHostFunc(p->streams[0], host_ms, NULL));
                launch(p, K300US, 0);
                MUST(cuStreamEndCapture(p->streams[0], &graph));
                MUST(cuGraphInstantiateWithFlags(&p->graph, graph, 0));
        }
        MUST(cuGraphLaunch(p->graph, p->streams[0]));
}

static CUDA_KERNEL_NODE_PARAMS node_of(const struct program *p, unsigned kernel)
{
        CUDA_KERNEL_NODE_PARAMS params;

        memset(&params, 0, sizeof params);
        params.func = p->kernels[kernel];
        params.gridDimX = params.gridDimY = params.gridDimZ = 1;
        params.blockDimX = params.blockDimY = params.blockDimZ = 1;
        return params;
}

/* One graph, whose kernel is another each time. */
static void swapped(struct program *p)
{
        static const unsigned order[] = { K1MS, K20MS, K300US, K5MS };
        const CUDA_KERNEL_NODE_PARAMS params = node_of(p, order[p->rounds++ % 4]);

        if (!p->graph) {
                CUgraph graph;
                MUST(cuGraphCreate(&graph, 0));
                MUST(cuGraphAddKernelNode_v2(&p->node, graph, NULL, 0, &params));
                MUST(cuGraphInstantiateWithFlags(&p->graph, graph, 0));
        }
        MUST(cuGraphExecKernelNodeSetParams_v2(p->graph, p->node, &params));
        MUST(cuGraphLaunch(p->graph, p->streams[0]));
}

/* From 20 µs to 100 ms, most of them short; the same each time the program runs. */
static void heavy_tailed(struct program *p)
{
        static const unsigned us[] = { 20, 50,  20,   5000, 100, 20,     300, 50,   20, 20000,
                                       20, 100, 1000, 20,   50,  100000, 20,  2000, 50, 20 };

        launch_spin(p, us[p->rounds++ % (sizeof us / sizeof us[0])] * 1000);
}

static const struct {
        const char *name;
        void (*round)(struct program *p);
} kinds[] = {
        { "k1ms", k1ms },
        { "long_sync", long_sync },
        { "contexts", contexts },
        { "callbacks", callbacks },
        { "callbacks_old", callbacks_old },
        { "callbacks_sync", callbacks_sync },
        { "events", events },
        { "values", values },
        { "host_nodes", host_nodes },
        { "swapped", swapped },
        { "heavy_tailed", heavy_tailed },
};

static void end_dtoh(struct program *p)
{
        char byte;

        MUST(cuMemcpyDtoH_v2(&byte, p->memory, 1));
}

static void end_query(struct program *p)
{
        (void)p;
        while (cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY)
                usleep(200);
}

static void end_event(struct program *p)
{
        CUevent event;

        (void)p;
        MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        MUST(cuEventRecord(event, NULL));
        while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
                usleep(200);
}

static void end_signal(struct program *p)
{
        (void)p;
        usleep(18000);
        kill(getpid(), SIGKILL);
}

static void end_sleep(struct program *p)
{
        (void)p;
        usleep(30000);
        _exit(0);
}

static void end_sync(struct program *p)
{
        (void)p;
        MUST(cuCtxSynchronize());
}

static const struct {
        const char *name;
        void (*end)(struct program *p);
} ends[] = { { "dtoh", end_dtoh },     { "query", end_query }, { "event", end_event },
             { "signal", end_signal }, { "sleep", end_sleep }, { "sync", end_sync } };

static int life(unsigned end)
{
        struct program program = { 0 };

        MUST(cuInit(0));
        context_open(&program);
        MUST(cuMemAlloc_v2(&program.memory, 1 << 20));
        MUST(cuLaunchKernel(program.kernels[K20MS], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        ends[end].end(&program);
        exit(0);
}

static pid_t life_start(const char *program, const char *end)
{
        char *const arguments[] = { (char *)program, (char *)"life", (char *)end, NULL };
        extern char **environ;
        pid_t pid;

        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) != 0)
                exit(1);
        return pid;
}

static int lives(const char *program, const char *end, double seconds, unsigned count)
{
        const uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * (double)NS_PER_S);

        for (unsigned i = 0; i < count && i < LIVES_MOST; i++)
                life_start(program, end);
        while (clock_now_ns() < end_ns)
                if (waitpid(-1, NULL, 0) > 0)
                        life_start(program, end);
        while (waitpid(-1, NULL, 0) > 0)
                ;
        return 0;
}

static int work(void (*round)(struct program *p), double seconds)
{
        static struct program program;
        const uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * (double)NS_PER_S);

        program_open(&program);
        while (clock_now_ns() < end_ns)
                round(&program);
        return 0;
}

static int list(void)
{
        for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
                puts(kinds[i].name);
        return 0;
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "";

        if (strcmp(what, "kinds") == 0)
                return list();
        for (unsigned i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++)
                if (strcmp(what, kinds[i].name) == 0)
                        return work(kinds[i].round, atof(argv[2]));
        for (unsigned i = 0; argc > 2 && i < sizeof ends / sizeof ends[0]; i++) {
                if (strcmp(argv[2], ends[i].name) != 0)
                        continue;
                if (argc == 3 && strcmp(what, "life") == 0)
                        return life(i);
                if (argc == 5 && strcmp(what, "lives") == 0)
                        return lives(argv[0], argv[2], atof(argv[3]), (unsigned)atoi(argv[4]));
        }
        fputs("Usage: share_programs KIND SECONDS | kinds | lives END SECONDS COUNT\n", stderr);
        return 2;
}
