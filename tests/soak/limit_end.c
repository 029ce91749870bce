/* SPDX-License-Identifier: Apache-2.0 */
/* Processes race at the limit and end, each in its own way; the GPU never shows a byte more, not in any
 * query. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cuda_prototypes.h"
#include "limit.h"
#include "say.h"

enum { HELD_MIB = 48, STEPS_MOST = 60 };

/* The observers' figures: the most they saw, and how often they read it. */
struct observed {
        _Atomic uint64_t settled, settled_samples, raw, raw_samples;
};

static void most_note(_Atomic uint64_t *most, uint64_t bytes)
{
        if (bytes > *most)
                *most = bytes;
}

/* As NVML reads it, and the machine's own sum. */
static pid_t observer_start(struct limit_run *run, struct observed *observed, bool is_raw)
{
        pid_t pid = limit_fork();

        if (pid)
                return pid;
        while (!run->shared->is_over) {
                if (is_raw)
                        most_note(&observed->raw, limit_gpu_bytes(run));
                else
                        most_note(&observed->settled, limit_gpu_settled(run));
                ++*(is_raw ? &observed->raw_samples : &observed->settled_samples);
        }
        _exit(0);
}

static _Noreturn void racer_end(unsigned way)
{
        char *const words[] = { "true", NULL };

        switch (way % 4) {
        case 0:
                exit(0);
        case 1:
                raise(SIGTERM);
                break;
        case 2:
                raise(SIGKILL);
                break;
        default:
                execv("/bin/true", words);
        }
        _exit(1);
}

/* Takes all it can get, and a little less, until it ends with it. */
static _Noreturn void racer_run(struct limit_run *run, unsigned seed)
{
        CUdeviceptr held[HELD_MIB] = { 0 };
        CUcontext context;
        CUresult r = cuInit(0);

        while (r == CUDA_SUCCESS && (r = cuCtxCreate_v2(&context, 0, 0)) != CUDA_SUCCESS) {
                run->shared->refused[0]++;
                r = r == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : r;
        }
        run->shared->wrong += r != CUDA_SUCCESS;
        for (unsigned steps = (unsigned)rand_r(&seed) % STEPS_MOST + 1; steps; steps--)
                for (unsigned i = 0; i < HELD_MIB; i++) {
                        if (held[i] && rand_r(&seed) % 4 == 0 &&
                            cuMemFree_v2(held[i]) == CUDA_SUCCESS)
                                held[i] = 0;
                        if (held[i])
                                continue;
                        bool is_taken = cuMemAlloc_v2(&held[i], 2 * MIB) == CUDA_SUCCESS;
                        ++*(is_taken ? run->shared->taken : run->shared->refused);
                        if (!is_taken)
                                held[i] = 0;
                }
        racer_end((unsigned)rand_r(&seed));
}

static void racers_run(struct limit_run *run, unsigned processes, unsigned ends)
{
        for (unsigned started = 0; started < ends; started++) {
                if (started >= processes)
                        wait(NULL);
                pid_t pid = limit_fork();
                if (pid == 0)
                        racer_run(run, run->seed + started);
        }
        for (unsigned i = 0; i < processes; i++)
                wait(NULL);
}

void limit_end(unsigned processes, unsigned ends, unsigned release_us)
{
        struct observed *observed = say_map(sizeof *observed);
        struct limit_run run;

        limit_open(&run, processes * HELD_MIB * MIB / 4, 2 * MIB); /* an eighth of what they want */
        run.machine.file->header.release_us = release_us;
        observer_start(&run, observed, false);
        observer_start(&run, observed, true);
        racers_run(&run, processes, ends);
        run.shared->is_over = true;
        wait(NULL);
        wait(NULL);
        run.machine.file->header.release_us = 0;
        say(observed->settled <= run.limit_bytes,
            "while %u ended, %" PRIu64 " queries never showed more than the limit (%" PRIu64
            " of %" PRIu64 ")",
            ends, observed->settled_samples, observed->settled, run.limit_bytes);
        say(observed->raw <= run.limit_bytes,
            "nor did the GPU's own sum in %" PRIu64 " (%" PRIu64 ")", observed->raw_samples,
            observed->raw);
        say(*run.shared->taken > 0 && *run.shared->refused > 0 && run.shared->wrong == 0,
            "%" PRIu64 " were taken, %" PRIu64 " refused, no other answers (%" PRIu64 ")",
            *run.shared->taken, *run.shared->refused, run.shared->wrong);
        limit_check_whole(&run);
        limit_close(&run);
}
