/* SPDX-License-Identifier: Apache-2.0 */
/* sketch: the words and what they do. */
#include "sketch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_must.h"

const struct machine_kernel_time sketch_kernels[SKETCH_KERNELS] = {
        { "k20us", 20 },      { "k50us", 50 },      { "k100us", 100 },  { "k300us", 300 },
        { "k1ms", 1000 },     { "k3ms", 3000 },     { "k10ms", 10000 }, { "k30ms", 30000 },
        { "k100ms", 100000 }, { "k300ms", 300000 }, { "k1s", 1000000 },
};

const char sketch_help[] =
        "k kernel, v kernel that takes µs, g count:kernel graph, s stream, h host callback of µs, "
        "w waits for stream,\n"
        "y synchronize stream, Y context, q poll stream, d copy to the host, z sleep µs";

static void launch(const struct sketch *sketch, unsigned kernel)
{
        MUST(cuLaunchKernel(sketch->kernels[kernel % SKETCH_KERNELS], 1, 1, 1, 32, 1, 1, 0,
                            sketch->streams[sketch->stream], NULL, NULL));
}

/* One kernel, whatever it takes: what was learned of it is wrong the next time. */
static void spin(const struct sketch *sketch, unsigned us)
{
        unsigned ns = us * 1000;
        void *params[] = { &ns };

        MUST(cuLaunchKernel(sketch->spin, 1, 1, 1, 1, 1, 1, 0, sketch->streams[sketch->stream],
                            params, NULL));
}

static void host_work(void *argument)
{
        usleep((unsigned)(uintptr_t)argument);
}

static void graph_launch(struct sketch *sketch, const struct sketch_step *word)
{
        CUgraphExec *exec = &sketch->graphs[(word - sketch->words) % SKETCH_GRAPHS];
        CUgraph graph;

        if (!*exec) {
                MUST(cuStreamBeginCapture_v2(sketch->streams[sketch->stream],
                                             CU_STREAM_CAPTURE_MODE_GLOBAL));
                for (unsigned i = 0; i < word->first; i++)
                        launch(sketch, word->second);
                MUST(cuStreamEndCapture(sketch->streams[sketch->stream], &graph));
                MUST(cuGraphInstantiateWithFlags(exec, graph, 0));
        }
        MUST(cuGraphLaunch(*exec, sketch->streams[sketch->stream]));
}

static void stream_poll(CUstream stream)
{
        while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
                usleep(100);
}

static void stream_join(const struct sketch *sketch, unsigned other)
{
        MUST(cuEventRecord(sketch->event, sketch->streams[other % SKETCH_STREAMS]));
        MUST(cuStreamWaitEvent(sketch->streams[sketch->stream], sketch->event, 0));
}

static void step_do(struct sketch *sketch, const struct sketch_step *word)
{
        static char host[SKETCH_BUFFER_BYTES];
        const CUstream stream = sketch->streams[sketch->stream];

        switch (word->letter) {
        case 'k':
                launch(sketch, word->first);
                return;
        case 'v':
                spin(sketch, word->first);
                return;
        case 'g':
                graph_launch(sketch, word);
                return;
        case 's':
                sketch->stream = word->first % SKETCH_STREAMS;
                return;
        case 'h':
                MUST(cuLaunchHostFunc(stream, host_work, (void *)(uintptr_t)word->first));
                return;
        case 'w':
                stream_join(sketch, word->first);
                return;
        case 'y':
                MUST(cuStreamSynchronize(stream));
                return;
        case 'Y':
                MUST(cuCtxSynchronize());
                return;
        case 'q':
                stream_poll(stream);
                return;
        case 'd':
                MUST(cuMemcpyDtoH_v2(host, sketch->buffer, sizeof host));
                return;
        case 'z':
                usleep(word->first);
                return;
        default:
                fprintf(stderr, "hunt: unknown word '%c'\n", word->letter);
                exit(2);
        }
}

void sketch_open(struct sketch *sketch)
{
        char ptx[4096] = ".version 6.3\n.target sm_70\n.address_size 64\n"
                         ".visible .entry spin(.param .u32 ns)\n{\n.reg .u32 %r1;\n"
                         "ld.param.u32 %r1, [ns];\nnanosleep.u32 %r1;\nret;\n}\n";
        CUmodule module;

        for (unsigned i = 0; i < SKETCH_KERNELS; i++)
                snprintf(ptx + strlen(ptx), sizeof ptx - strlen(ptx),
                         ".visible .entry %s()\n{\nret;\n}\n", sketch_kernels[i].name);
        MUST(cuModuleLoadData(&module, ptx));
        for (unsigned i = 0; i < SKETCH_KERNELS; i++)
                MUST(cuModuleGetFunction(&sketch->kernels[i], module, sketch_kernels[i].name));
        MUST(cuModuleGetFunction(&sketch->spin, module, "spin"));
        for (unsigned i = 0; i < SKETCH_STREAMS; i++)
                MUST(cuStreamCreate(&sketch->streams[i], CU_STREAM_DEFAULT));
        MUST(cuEventCreate(&sketch->event, CU_EVENT_DISABLE_TIMING));
        MUST(cuMemAlloc_v2(&sketch->buffer, SKETCH_BUFFER_BYTES));
        memset(sketch->graphs, 0, sizeof sketch->graphs);
        sketch->stream = 0;
}

void sketch_open_primary(struct sketch *sketch)
{
        CUcontext context;

        MUST(cuInit(0));
        MUST(cuDevicePrimaryCtxRetain(&context, 0));
        MUST(cuCtxSetCurrent(context));
        sketch_open(sketch);
}

void sketch_do(struct sketch *sketch, unsigned from, unsigned count)
{
        for (unsigned i = from; i < sketch->count && i < from + count; i++)
                step_do(sketch, &sketch->words[i]);
}

void sketch_pass(struct sketch *sketch)
{
        sketch_do(sketch, 0, sketch->count);
}

void sketch_read(char *text, struct sketch *sketch)
{
        char *position = NULL;

        for (char *word = strtok_r(text, ",", &position); word && sketch->count < SKETCH_STEPS_MOST;
             word = strtok_r(NULL, ",", &position)) {
                struct sketch_step *w = &sketch->words[sketch->count++];

                w->letter = word[0];
                sscanf(word + 1, "%u:%u", &w->first, &w->second);
        }
}
