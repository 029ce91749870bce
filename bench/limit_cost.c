/* SPDX-License-Identifier: Apache-2.0 */
/* limit_cost: what calls cost a program, in nanoseconds: run bare, and with libvgpu.so preloaded, the
 * difference is the library's.
 *
 *   limit_cost machine PATH    makes the machine to measure on
 *   limit_cost calls OTHERS    "metric value" lines, while OTHERS processes sit attached and idle; with
 *                              none beside it also where much is allocated
 *   limit_cost limited OTHERS  the same where a limit is set: also the refusals
 *   limit_cost running COUNT   the same of COUNT processes that all allocate at once, each on its own
 *                              time: what it takes on a core, not what it waits for one
 *   limit_cost start COUNT     seconds until COUNT processes have called cuInit */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_clock.h"
#include "bench_machine.h"
#include "bench_must.h"
#include "clock.h"
#include "cuda_prototypes.h"

enum {
        ROUNDS = 25,
        ROUNDS_LEAST = 3,
        /* A call may take long where there are many processes on a busy host. */
        ROUND_MS = 20,
        REPORT_MS = 300,
        CHUNK = 16, /* calls between two queries of the clock */
        OTHERS_MOST = 4096,
        LIVE_MOST = 100000,
        SMALL_BYTES = 4096,
        LARGE_BYTES = 4 << 20
};

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry bench_timed(.param .u64 out)\n{\nret;\n}\n";

struct bench {
        CUfunction timed;
        CUstream stream;
        CUdeviceptr buffer;
        size_t refused_bytes;
};

static void launch(struct bench *bench)
{
        void *params[] = { &bench->buffer };

        MUST(cuLaunchKernel(bench->timed, 1, 1, 1, 32, 1, 1, 0, bench->stream, params, NULL));
}

static void alloc_free(struct bench *bench)
{
        MUST(cuMemAlloc_v2(&bench->buffer, SMALL_BYTES));
        MUST(cuMemFree_v2(bench->buffer));
}

static void alloc_free_large(struct bench *bench)
{
        MUST(cuMemAlloc_v2(&bench->buffer, LARGE_BYTES));
        MUST(cuMemFree_v2(bench->buffer));
}

static void alloc_free_async(struct bench *bench)
{
        MUST(cuMemAllocAsync(&bench->buffer, SMALL_BYTES, bench->stream));
        MUST(cuMemFreeAsync(bench->buffer, bench->stream));
}

static void memory_info(struct bench *bench)
{
        size_t free_bytes, total_bytes;

        (void)bench;
        MUST(cuMemGetInfo_v2(&free_bytes, &total_bytes));
}

static void refusal(struct bench *bench)
{
        if (cuMemAlloc_v2(&bench->buffer, bench->refused_bytes) != CUDA_ERROR_OUT_OF_MEMORY)
                must(CUDA_ERROR_UNKNOWN, "an allocation over the limit was not refused");
}

/* How often this thread has been taken off its core. Waiting of its own accord is not that. */
static long interruptions(void)
{
        struct rusage usage = { 0 };

        getrusage(RUSAGE_THREAD, &usage);
        return usage.ru_nivcsw;
}

/* Nanoseconds of a call, of so many or of as many as there is time for. */
static double round_run(struct bench *bench, void (*call)(struct bench *), unsigned count)
{
        const uint64_t begin_ns = clock_now_ns();
        uint64_t spent_ns = 0;
        unsigned done = 0;

        while (done < count && spent_ns < ROUND_MS * NS_PER_MS) {
                for (unsigned i = 0; i < CHUNK; i++)
                        call(bench);
                done += CHUNK;
                spent_ns = clock_now_ns() - begin_ns;
        }
        return (double)spent_ns / done;
}

/* Rounds that were interrupted say more of the host than of the call: they count only if all were. */
static void report(struct bench *bench, const char *metric, void (*call)(struct bench *),
                   unsigned count)
{
        const uint64_t end_ns = clock_now_ns() + REPORT_MS * NS_PER_MS;
        double results[ROUNDS];
        unsigned calm = 0, round = 0;

        for (; round < ROUNDS && (round < ROUNDS_LEAST || clock_now_ns() < end_ns); round++) {
                MUST(cuStreamSynchronize(bench->stream));
                long before = interruptions();
                const double ns = round_run(bench, call, count);
                bool is_calm = interruptions() == before;
                results[round] = ns;
                if (is_calm) { /* the calm ones come first */
                        results[round] = results[calm];
                        results[calm++] = ns;
                }
        }
        printf("%s %.2f\n", metric, bench_median(results, calm ? calm : round));
}

static void bench_open(struct bench *bench)
{
        CUcontext context;
        CUmodule module;

        MUST(cuInit(0));
        MUST(cuDevicePrimaryCtxRetain(&context, 0));
        MUST(cuCtxSetCurrent(context));
        MUST(cuModuleLoadData(&module, ptx));
        MUST(cuModuleGetFunction(&bench->timed, module, "bench_timed"));
        MUST(cuStreamCreate(&bench->stream, CU_STREAM_NON_BLOCKING));
}

/* More allocations, none of them freed before the program ends. */
static void live_add(unsigned count)
{
        CUdeviceptr buffer;

        while (count--)
                MUST(cuMemAlloc_v2(&buffer, SMALL_BYTES));
}

static void refusal_report(struct bench *bench)
{
        size_t free_bytes, total_bytes;

        MUST(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        bench->refused_bytes = free_bytes + LARGE_BYTES;
        report(bench, "refusal", refusal, 1024);
}

static void calls_report(bool is_limited, bool is_alone)
{
        struct bench bench = { 0 };

        bench_open(&bench);
        report(&bench, "launch", launch, 1024);
        report(&bench, "alloc_free_at_0", alloc_free, 512);
        report(&bench, "alloc_free_large_at_0", alloc_free_large, 128);
        report(&bench, "meminfo", memory_info, 1024);
        if (is_limited)
                refusal_report(&bench);
        if (!is_alone)
                return;
        live_add(10000);
        report(&bench, "alloc_free_at_10k", alloc_free, 512);
        live_add(LIVE_MOST - 10000);
        report(&bench, "alloc_free_at_100k", alloc_free, 512);
        report(&bench, "async_alloc_free", alloc_free_async, 128);
}

/* Forks processes that call cuInit, say so, and sleep until their parent ends. */
static void others_start(unsigned count, pid_t *ret_pids)
{
        int ends[2];

        if (pipe(ends) < 0)
                must(CUDA_ERROR_UNKNOWN, "pipe");
        for (unsigned i = 0; i < count; i++) {
                ret_pids[i] = fork();
                if (ret_pids[i] != 0)
                        continue;
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                MUST(cuInit(0));
                if (write(ends[1], "", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        close(ends[1]);
        for (unsigned i = 0; i < count; i++) {
                char byte;
                if (read(ends[0], &byte, 1) != 1)
                        must(CUDA_ERROR_UNKNOWN, "a process could not start");
        }
        close(ends[0]);
}

/* Nanoseconds of a core per allocation, of one of many processes. */
static double runner_run(void)
{
        enum { WARM_UP = 100, PAIRS = 4000 };
        struct bench bench = { 0 };
        struct timespec begin, end;

        bench_open(&bench);
        for (unsigned i = 0; i < WARM_UP; i++)
                alloc_free(&bench);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        for (unsigned i = 0; i < PAIRS; i++)
                alloc_free(&bench);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
               PAIRS;
}

static void running_report(unsigned count)
{
        static double results[OTHERS_MOST];
        int ends[2];

        if (pipe(ends) < 0)
                must(CUDA_ERROR_UNKNOWN, "pipe");
        for (unsigned i = 0; i < count; i++) {
                if (fork() != 0)
                        continue;
                double result = runner_run();
                _exit(write(ends[1], &result, sizeof result) != sizeof result);
        }
        close(ends[1]);
        for (unsigned i = 0; i < count; i++)
                if (read(ends[0], &results[i], sizeof results[i]) != sizeof results[i])
                        must(CUDA_ERROR_UNKNOWN, "a process could not run");
        while (wait(NULL) > 0)
                continue;
        printf("alloc_free_running %.2f\n", bench_median(results, count));
}

static void others_end(unsigned count, const pid_t *pids)
{
        for (unsigned i = 0; i < count; i++)
                kill(pids[i], SIGKILL);
        for (unsigned i = 0; i < count; i++)
                waitpid(pids[i], NULL, 0);
}

int main(int argc, char **argv)
{
        static pid_t pids[OTHERS_MOST];

        if (argc == 3 && strcmp(argv[1], "machine") == 0) {
                bench_machine_make(argv[2]);
                return 0;
        }
        unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : OTHERS_MOST + 1;
        if (count > OTHERS_MOST ||
            (strcmp(argv[1], "calls") != 0 && strcmp(argv[1], "limited") != 0 &&
             strcmp(argv[1], "start") != 0 && strcmp(argv[1], "running") != 0)) {
                fputs("Usage: limit_cost machine PATH | calls OTHERS | limited OTHERS |\n"
                      "       running COUNT | start COUNT\n",
                      stderr);
                return 2;
        }
        if (strcmp(argv[1], "running") == 0) {
                running_report(count);
                return 0;
        }
        uint64_t begin_ns = clock_now_ns();
        others_start(count, pids);
        if (strcmp(argv[1], "start") == 0)
                printf("start %.4f\n", (double)(clock_now_ns() - begin_ns) / (double)NS_PER_S);
        else
                calls_report(strcmp(argv[1], "limited") == 0, count == 0);
        fflush(stdout);
        others_end(count, pids);
        return 0;
}
