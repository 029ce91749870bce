/* SPDX-License-Identifier: Apache-2.0 */
/* Limited processes are killed at random moments; a bystander of the same container never waits long,
 * and no byte is lost. */
#include <fcntl.h>
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

enum { VICTIMS = 6, LIFE_US = 30000, CHECK_EVERY = 500, STALL_S = 20 };
/* What is slow: with a few kills, in `make test`, only what would be a hang on any host. */
enum { MANY = 10000, SLOW_MS = 100, SLOW_OF_FEW_MS = 2000 };

struct bystander {
        _Atomic uint64_t operations, refusals, wrong;
        _Atomic uint64_t slowest_ns; /* without what it waited for a core */
        _Atomic uint64_t slowest_wall_ns;
};

struct victim {
        pid_t pid;
        uint64_t kill_ns;
};

/* How long this thread was ready to run and had no core. A hang is not that: who hangs sleeps or
 * spins. */
static uint64_t wait_for_core_ns(int schedstat)
{
        char text[128] = "";
        unsigned long long ran = 0, waited = 0;

        if (pread(schedstat, text, sizeof text - 1, 0) > 0)
                sscanf(text, "%llu %llu", &ran, &waited);
        return waited;
}

static CUresult operation(unsigned which)
{
        static CUdeviceptr memory;
        size_t free_bytes, total_bytes;
        CUcontext current, context;

        switch (which % 6) {
        case 0:
                return cuMemAlloc_v2(&memory, 3 * MIB);
        case 1:
                return memory ? cuMemFree_v2(memory) : CUDA_SUCCESS;
        case 2:
                memory = 0;
                return cuMemGetInfo_v2(&free_bytes, &total_bytes);
        case 3:
                return cuMemAlloc_v2(&memory, UINT64_C(1) << 40);
        case 4:
                cuCtxGetCurrent(&current);
                if (cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                cuCtxDestroy_v2(context);
                return cuCtxSetCurrent(current);
        default:
                return cuCtxSynchronize();
        }
}

static void operation_timed(struct bystander *self, int schedstat, unsigned which)
{
        uint64_t waited_ns = wait_for_core_ns(schedstat), begin_ns = clock_now_ns();
        CUresult r = operation(which);
        uint64_t wall_ns = clock_now_ns() - begin_ns;

        waited_ns = wait_for_core_ns(schedstat) - waited_ns;
        uint64_t own_ns = wall_ns > waited_ns ? wall_ns - waited_ns : 0;
        self->slowest_ns = own_ns > self->slowest_ns ? own_ns : self->slowest_ns;
        self->slowest_wall_ns = wall_ns > self->slowest_wall_ns ? wall_ns : self->slowest_wall_ns;
        self->refusals += r == CUDA_ERROR_OUT_OF_MEMORY;
        self->wrong += r != CUDA_SUCCESS && r != CUDA_ERROR_OUT_OF_MEMORY;
        self->operations++;
}

static _Noreturn void stand_by(struct bystander *self, struct limit_shared *shared)
{
        int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        CUcontext context;

        if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
                _exit(1);
        for (unsigned i = 0; !shared->is_over; i++) {
                operation_timed(self, schedstat, i);
                if (i % 6 == 2 && shared->is_paused) {
                        shared->paused++;
                        while (shared->is_paused)
                                usleep(500);
                        shared->paused--;
                }
                usleep(300);
        }
        _exit(0);
}

static void victim_start(struct limit_run *run, struct victim *victim)
{
        unsigned seed = (unsigned)rand_r(&run->seed);

        fflush(NULL);
        victim->pid = limit_fork();
        if (victim->pid == 0)
                limit_work(run->shared, seed);
        victim->kill_ns = clock_now_ns() + (uint64_t)rand_r(&run->seed) % LIFE_US * 1000;
}

static void victim_kill(struct victim *victim)
{
        kill(victim->pid, SIGKILL);
        waitpid(victim->pid, NULL, 0);
        victim->pid = 0;
}

static struct victim *victim_next(struct victim *victims)
{
        struct victim *next = victims;

        for (unsigned i = 1; i < VICTIMS; i++)
                if (victims[i].kill_ns < next->kill_ns)
                        next = &victims[i];
        uint64_t now_ns = clock_now_ns();
        if (next->kill_ns > now_ns)
                usleep((useconds_t)((next->kill_ns - now_ns) / 1000));
        return next;
}

static bool bystander_stops(struct limit_shared *shared)
{
        shared->is_paused = true;
        for (unsigned i = 0; !shared->paused && i < STALL_S * 2000; i++)
                usleep(500);
        return shared->paused > 0;
}

/* All victims dead, the bystander at rest: what is used is what it holds. */
static bool storm_sample(struct limit_run *run, struct victim *victims)
{
        for (unsigned i = 0; i < VICTIMS; i++)
                victim_kill(&victims[i]);
        bool is_good = bystander_stops(run->shared) && limit_agrees(run);
        run->shared->is_paused = false;
        return is_good;
}

/* How many samples found all well; 0: one did not. */
static unsigned storm_run(struct limit_run *run, unsigned kills)
{
        struct victim victims[VICTIMS];
        unsigned samples = 0;

        for (unsigned done = 0; done < kills;) {
                for (unsigned i = 0; i < VICTIMS; i++)
                        victim_start(run, &victims[i]);
                unsigned until = done + CHECK_EVERY < kills ? done + CHECK_EVERY : kills;
                for (; done + VICTIMS < until; done++) {
                        struct victim *victim = victim_next(victims);
                        victim_kill(victim);
                        victim_start(run, victim);
                }
                if (!storm_sample(run, victims))
                        return 0;
                done += VICTIMS;
                samples++;
                fprintf(stderr, "limit: %u killed\n", done);
        }
        return samples;
}

void limit_kill(unsigned kills)
{
        struct bystander *bystander = say_map(sizeof *bystander);
        const unsigned slow_ms = kills >= MANY ? SLOW_MS : SLOW_OF_FEW_MS;
        struct limit_run run;
        int status = -1;

        limit_open(&run, 128 * MIB, 2 * MIB);
        pid_t pid = limit_fork();
        if (pid == 0)
                stand_by(bystander, run.shared);
        while (!bystander->operations && waitpid(pid, &status, WNOHANG) == 0)
                usleep(1000);
        unsigned samples = storm_run(&run, kills);
        say(samples > 0, "after %u kills, in each of %u samples, region and GPU agree", kills,
            samples);
        run.shared->is_over = true;
        run.shared->is_paused = false;
        waitpid(pid, &status, 0);
        say(status == 0 && bystander->wrong == 0,
            "a bystander did %" PRIu64 " operations, %" PRIu64 " refused, %" PRIu64 " wrong",
            bystander->operations, bystander->refusals, bystander->wrong);
        say(bystander->slowest_ns <= slow_ms * NS_PER_MS,
            "none took over %u ms: the slowest %" PRIu64 " us, %" PRIu64
            " us with its wait for a core",
            slow_ms, (uint64_t)(bystander->slowest_ns / NS_PER_US),
            (uint64_t)(bystander->slowest_wall_ns / NS_PER_US));
        limit_check_whole(&run);
        say(limit_agrees(&run) && limit_gpu_settled(&run) == 0, "nothing is left");
        limit_close(&run);
}
