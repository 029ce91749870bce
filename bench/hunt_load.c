/* SPDX-License-Identifier: Apache-2.0 */
/* hunt_load: a program that `make hunt` puts together at random.
 *
 *   hunt_load machine PATH           makes the machine to hunt on: one GPU, kernels of known durations
 *   hunt_load words                  the words of a shape, and the durations
 *   hunt_load SECONDS LIFE PROCESSES SHAPE
 *
 * SHAPE is a comma-separated list of words, repeated until the time is over. LIFE says how long a
 * process of it lives: `whole` all the time; `exit`, `kill`, `sleep` one pass each, ended by exit(), by
 * a signal, or after a sleep; `context` all the time, with a context of its own for each pass. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_must.h"
#include "clock.h"
#include "cuda_prototypes.h"
#include "machine.h"

enum { STREAMS = 4, WORDS_MOST = 64, PROCESSES_MOST = 16, GRAPHS = 8, BUFFER_BYTES = 1 << 20 };

static const struct machine_kernel_time kernels[] = {
        { "k20us", 20 },      { "k50us", 50 },      { "k100us", 100 },  { "k300us", 300 },
        { "k1ms", 1000 },     { "k3ms", 3000 },     { "k10ms", 10000 }, { "k30ms", 30000 },
        { "k100ms", 100000 }, { "k300ms", 300000 }, { "k1s", 1000000 },
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

/* One word of a shape: a letter, and up to two numbers. */
struct word {
        char letter;
        unsigned first, second;
};

struct load {
        struct word words[WORDS_MOST];
        unsigned count;
        CUfunction kernels[KERNELS];
        CUstream streams[STREAMS];
        CUevent event;
        CUdeviceptr buffer;
        CUgraphExec graphs[GRAPHS]; /* by the place of their word */
        unsigned stream;            /* current */
};

static void launch(const struct load *load, unsigned kernel)
{
        MUST(cuLaunchKernel(load->kernels[kernel % KERNELS], 1, 1, 1, 32, 1, 1, 0,
                            load->streams[load->stream], NULL, NULL));
}

static void host_work(void *argument)
{
        usleep((unsigned)(uintptr_t)argument);
}

static void graph_launch(struct load *load, const struct word *word)
{
        CUgraphExec *exec = &load->graphs[(word - load->words) % GRAPHS];
        CUgraph graph;

        if (!*exec) {
                MUST(cuStreamBeginCapture_v2(load->streams[load->stream],
                                             CU_STREAM_CAPTURE_MODE_GLOBAL));
                for (unsigned i = 0; i < word->first; i++)
                        launch(load, word->second);
                MUST(cuStreamEndCapture(load->streams[load->stream], &graph));
                MUST(cuGraphInstantiateWithFlags(exec, graph, 0));
        }
        MUST(cuGraphLaunch(*exec, load->streams[load->stream]));
}

static void stream_poll(CUstream stream)
{
        while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
                usleep(100);
}

static void stream_join(const struct load *load, unsigned other)
{
        MUST(cuEventRecord(load->event, load->streams[other % STREAMS]));
        MUST(cuStreamWaitEvent(load->streams[load->stream], load->event, 0));
}

static void word_do(struct load *load, const struct word *word)
{
        static char host[BUFFER_BYTES];
        const CUstream stream = load->streams[load->stream];

        switch (word->letter) {
        case 'k':
                launch(load, word->first);
                return;
        case 'g':
                graph_launch(load, word);
                return;
        case 's':
                load->stream = word->first % STREAMS;
                return;
        case 'h':
                MUST(cuLaunchHostFunc(stream, host_work, (void *)(uintptr_t)word->first));
                return;
        case 'w':
                stream_join(load, word->first);
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
                MUST(cuMemcpyDtoH_v2(host, load->buffer, sizeof host));
                return;
        case 'z':
                usleep(word->first);
                return;
        default:
                fprintf(stderr, "hunt_load: unknown word '%c'\n", word->letter);
                exit(2);
        }
}

static void load_open(struct load *load)
{
        char ptx[4096] = ".version 6.0\n.target sm_50\n.address_size 64\n";
        CUmodule module;

        for (unsigned i = 0; i < KERNELS; i++)
                snprintf(ptx + strlen(ptx), sizeof ptx - strlen(ptx),
                         ".visible .entry %s()\n{\nret;\n}\n", kernels[i].name);
        MUST(cuModuleLoadData(&module, ptx));
        for (unsigned i = 0; i < KERNELS; i++)
                MUST(cuModuleGetFunction(&load->kernels[i], module, kernels[i].name));
        for (unsigned i = 0; i < STREAMS; i++)
                MUST(cuStreamCreate(&load->streams[i], CU_STREAM_DEFAULT));
        MUST(cuEventCreate(&load->event, CU_EVENT_DISABLE_TIMING));
        MUST(cuMemAlloc_v2(&load->buffer, BUFFER_BYTES));
        memset(load->graphs, 0, sizeof load->graphs);
        load->stream = 0;
}

static void pass(struct load *load)
{
        for (unsigned i = 0; i < load->count; i++)
                word_do(load, &load->words[i]);
}

static void primary_open(struct load *load)
{
        CUcontext context;

        MUST(cuInit(0));
        MUST(cuDevicePrimaryCtxRetain(&context, 0));
        MUST(cuCtxSetCurrent(context));
        load_open(load);
}

static void live_whole(struct load *load, uint64_t end_ns)
{
        primary_open(load);
        while (clock_now_ns() < end_ns)
                pass(load);
}

static void live_contexts(struct load *load, uint64_t end_ns)
{
        CUcontext context;

        MUST(cuInit(0));
        while (clock_now_ns() < end_ns) {
                MUST(cuCtxCreate_v2(&context, 0, 0));
                load_open(load);
                pass(load);
                MUST(cuCtxDestroy_v2(context));
        }
}

static void live_once(struct load *load, const char *life)
{
        primary_open(load);
        pass(load);
        if (strcmp(life, "sleep") == 0)
                usleep(50000);
        if (strcmp(life, "kill") == 0)
                raise(SIGKILL);
        exit(0);
}

/* One process after the other, until the time is over. */
static void live_shortly(struct load *load, const char *life, uint64_t end_ns)
{
        while (clock_now_ns() < end_ns) {
                const pid_t child = fork();

                if (child == 0)
                        live_once(load, life);
                if (child < 0 || waitpid(child, NULL, 0) < 0)
                        exit(1);
        }
}

static void live(struct load *load, const char *life, uint64_t end_ns)
{
        if (strcmp(life, "whole") == 0)
                live_whole(load, end_ns);
        else if (strcmp(life, "context") == 0)
                live_contexts(load, end_ns);
        else
                live_shortly(load, life, end_ns);
}

static void shape_read(char *text, struct load *load)
{
        for (char *word = strtok(text, ","); word && load->count < WORDS_MOST;
             word = strtok(NULL, ",")) {
                struct word *w = &load->words[load->count++];

                w->letter = word[0];
                sscanf(word + 1, "%u:%u", &w->first, &w->second);
        }
}

static int machine_make(const char *path)
{
        struct machine_spec spec;
        struct err e = { 0 };

        machine_spec_init(&spec);
        spec.kernels = kernels;
        spec.kernel_count = KERNELS;
        if (machine_create(path, &spec, &e) == 0)
                return 0;
        fprintf(stderr, "hunt_load: %s\n", e.text);
        return 1;
}

static int words_print(void)
{
        puts("k kernel, g count:kernel graph, s stream, h host callback of µs, w waits for "
             "stream,\n"
             "y synchronize stream, Y context, q poll stream, d copy to the host, z sleep µs");
        for (unsigned i = 0; i < KERNELS; i++)
                printf("kernel %u %.0f\n", i, kernels[i].microseconds);
        return 0;
}

int main(int argc, char **argv)
{
        static struct load load;

        if (argc == 3 && strcmp(argv[1], "machine") == 0)
                return machine_make(argv[2]);
        if (argc == 2 && strcmp(argv[1], "words") == 0)
                return words_print();
        if (argc != 5) {
                fputs("Usage: hunt_load machine PATH | words | SECONDS LIFE PROCESSES SHAPE\n",
                      stderr);
                return 2;
        }
        const uint64_t end_ns = clock_now_ns() + (uint64_t)(atof(argv[1]) * (double)NS_PER_S);
        shape_read(argv[4], &load);
        for (int i = 1; i < atoi(argv[3]) && i < PROCESSES_MOST; i++)
                if (fork() == 0)
                        break; /* a process like the first */
        live(&load, argv[2], end_ns);
        return 0;
}
