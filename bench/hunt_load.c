/* SPDX-License-Identifier: Apache-2.0 */
/* hunt_load: a program that `make hunt` puts together at random.
 *
 *   hunt_load machine PATH           makes the machine to hunt on: one GPU, kernels of known durations
 *   hunt_load words                  the words of a shape, and the durations
 *   hunt_load SECONDS LIFE PROCESSES SHAPE
 *
 * SHAPE (sketch.h) is repeated until the time is over. LIFE says how long a
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
#include "sketch.h"

enum { PROCESSES_MOST = 16 };

static void live_whole(struct sketch *sketch, uint64_t end_ns)
{
        sketch_open_primary(sketch);
        while (clock_now_ns() < end_ns)
                sketch_pass(sketch);
}

static void live_contexts(struct sketch *sketch, uint64_t end_ns)
{
        CUcontext context;

        MUST(cuInit(0));
        while (clock_now_ns() < end_ns) {
                MUST(cuCtxCreate_v2(&context, 0, 0));
                sketch_open(sketch);
                sketch_pass(sketch);
                MUST(cuCtxDestroy_v2(context));
        }
}

static void live_once(struct sketch *sketch, const char *life)
{
        sketch_open_primary(sketch);
        sketch_pass(sketch);
        if (strcmp(life, "sleep") == 0)
                usleep(50000);
        if (strcmp(life, "kill") == 0)
                raise(SIGKILL);
        exit(0);
}

/* One process after the other, until the time is over. */
static void live_shortly(struct sketch *sketch, const char *life, uint64_t end_ns)
{
        while (clock_now_ns() < end_ns) {
                const pid_t child = fork();

                if (child == 0)
                        live_once(sketch, life);
                if (child < 0 || waitpid(child, NULL, 0) < 0)
                        exit(1);
        }
}

static void live(struct sketch *sketch, const char *life, uint64_t end_ns)
{
        if (strcmp(life, "whole") == 0)
                live_whole(sketch, end_ns);
        else if (strcmp(life, "context") == 0)
                live_contexts(sketch, end_ns);
        else
                live_shortly(sketch, life, end_ns);
}

static int machine_make(const char *path)
{
        struct machine_spec spec;
        struct err e = { 0 };

        machine_spec_init(&spec);
        spec.kernels = sketch_kernels;
        spec.kernel_count = SKETCH_KERNELS;
        if (machine_create(path, &spec, &e) == 0)
                return 0;
        fprintf(stderr, "hunt_load: %s\n", e.text);
        return 1;
}

static int words_print(void)
{
        puts(sketch_help);
        for (unsigned i = 0; i < SKETCH_KERNELS; i++)
                printf("kernel %u %.0f\n", i, sketch_kernels[i].microseconds);
        return 0;
}

int main(int argc, char **argv)
{
        static struct sketch sketch;

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
        sketch_read(argv[4], &sketch);
        for (int i = 1; i < atoi(argv[3]) && i < PROCESSES_MOST; i++)
                if (fork() == 0)
                        break; /* a process like the first */
        live(&sketch, argv[2], end_ns);
        return 0;
}
