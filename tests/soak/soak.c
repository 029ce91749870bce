/* SPDX-License-Identifier: Apache-2.0 */
/* soak [--tap] [KILLS [SEED]]: kills processes at random moments, then looks at what they left.
 *
 * Four processes at a time use one machine, two of them through the driver, two directly; each is
 * killed a few milliseconds after it began, or at once, and replaced. */
#include "soak.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "machine.h"
#include "say.h"

enum { WORKERS = 4, LIFE_US = 12000, SHORT_LIFE_US = 1500, STALL_S = 10 };

struct victim {
        pid_t pid;
        uint64_t kill_ns;
};

struct storm {
        struct soak_shared *shared;
        char path[64];
        struct victim victims[WORKERS];
        unsigned seed, born;
        unsigned kills, suicides;
};

static void victim_start(struct storm *storm, struct victim *victim)
{
        const unsigned life_us = rand_r(&storm->seed) % 4 ? LIFE_US : SHORT_LIFE_US;
        const unsigned seed = (unsigned)rand_r(&storm->seed);
        const bool is_direct = storm->born++ % 2;

        fflush(stdout);
        victim->pid = fork();
        if (victim->pid == 0 && is_direct)
                worker_use_machine(storm->shared, storm->path, seed);
        if (victim->pid == 0)
                worker_use_driver(storm->shared, seed);
        victim->kill_ns = clock_now_ns() + (uint64_t)(rand_r(&storm->seed)) % life_us * 1000;
}

static void victim_kill(struct storm *storm, struct victim *victim)
{
        int status = 0;

        kill(victim->pid, SIGKILL);
        while (waitpid(victim->pid, &status, 0) < 0 && errno == EINTR)
                ;
        storm->kills++;
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
                storm->suicides++;
                fprintf(stderr, "soak: a worker ended by itself (status %#x)\n", (unsigned)status);
        }
        victim->pid = 0;
}

static struct victim *victim_next(struct storm *storm)
{
        struct victim *next = &storm->victims[0];

        for (int i = 1; i < WORKERS; i++)
                if (storm->victims[i].kill_ns < next->kill_ns)
                        next = &storm->victims[i];
        return next;
}

/* False when the bystander stood still for too long: something hangs. */
static bool storm_run(struct storm *storm, unsigned kills)
{
        uint64_t rounds = 0, alive_ns = clock_now_ns();
        bool is_moving = true;

        for (int i = 0; i < WORKERS; i++)
                victim_start(storm, &storm->victims[i]);
        while (storm->kills + WORKERS < kills && is_moving) {
                struct victim *victim = victim_next(storm);
                const uint64_t now_ns = clock_now_ns();

                if (victim->kill_ns > now_ns)
                        usleep((useconds_t)((victim->kill_ns - now_ns) / 1000));
                victim_kill(storm, victim);
                victim_start(storm, victim);
                if (storm->shared->bystander_rounds != rounds) {
                        rounds = storm->shared->bystander_rounds;
                        alive_ns = clock_now_ns();
                }
                is_moving = clock_now_ns() - alive_ns < STALL_S * NS_PER_S;
                if (storm->kills % 1000 == 0)
                        fprintf(stderr, "soak: %u killed\n", storm->kills);
        }
        for (int i = 0; i < WORKERS; i++)
                victim_kill(storm, &storm->victims[i]);
        return is_moving;
}

static void machine_make(struct storm *storm)
{
        const struct machine_kernel_time kernels[] = { { .name = "soak_timed",
                                                         .microseconds = 30 } };
        struct machine_spec spec;
        struct err e = { 0 };

        machine_spec_init(&spec);
        spec.gpu_count = SOAK_GPUS;
        spec.gpu_memory_bytes = UINT64_C(8) << 30;
        spec.kernels = kernels;
        spec.kernel_count = 1;
        snprintf(storm->path, sizeof storm->path, "/tmp/vgpu-soak-%d", (int)getpid());
        if (machine_create(storm->path, &spec, &e) < 0) {
                fprintf(stderr, "soak: %s\n", e.text);
                exit(1);
        }
        setenv("VGPU_SIM", storm->path, 1);
}

static void bystander_end(struct storm *storm, pid_t bystander, bool is_moving)
{
        const struct soak_shared *shared = storm->shared;
        int status = 1;

        storm->shared->is_over = true;
        if (!is_moving)
                kill(bystander, SIGKILL);
        waitpid(bystander, &status, 0);
        say(is_moving && status == 0,
            "a bystander worked on throughout (%" PRIu64 " rounds, the slowest %" PRIu64 " ms)",
            shared->bystander_rounds, (uint64_t)(shared->bystander_slowest_ns / NS_PER_MS));
        say(shared->bystander_wrong == 0, "its data and calls were right (%" PRIu64 " were not)",
            shared->bystander_wrong);
}

static void storm_report(const struct storm *storm)
{
        const struct soak_shared *shared = storm->shared;

        say(storm->suicides == 0, "%u processes were killed, none ended by itself (%u did)",
            storm->kills, storm->suicides);
        say(shared->launches > 0 && shared->allocations > 0 && shared->machine_calls > 0,
            "they were at work: %" PRIu64 " driver calls, %" PRIu64 " launches, %" PRIu64
            " allocations, %" PRIu64 " imports, %" PRIu64 " rounds on the machine",
            shared->driver_calls, shared->launches, shared->allocations, shared->imports,
            shared->machine_calls);
}

int main(int argc, char **argv)
{
        const bool is_tap = argc > 1 && strcmp(argv[1], "--tap") == 0;
        char **words = argv + 1 + is_tap;
        const unsigned kills = *words ? (unsigned)strtoul(*words, NULL, 10) : 10000;
        struct storm storm = { .shared = say_map(sizeof *storm.shared),
                               .seed = *words && words[1] ? (unsigned)strtoul(words[1], NULL, 10)
                                                          : (unsigned)time(NULL) };
        pid_t bystander;
        bool is_moving;

        say_open();
        machine_make(&storm);
        printf("# seed %u\n", storm.seed);
        fflush(stdout);
        bystander = fork();
        if (bystander == 0)
                worker_stand_by(storm.shared);
        is_moving = storm_run(&storm, kills < WORKERS ? WORKERS : kills);
        storm_report(&storm);
        bystander_end(&storm, bystander, is_moving);
        if (!inspect(storm.path) && say_failed() == 0)
                say(false, "the inspection came to its end");
        unlink(storm.path);
        return say_close(is_tap);
}
