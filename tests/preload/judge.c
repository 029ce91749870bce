/* SPDX-License-Identifier: Apache-2.0 */
/* judge: by the machine's clock, and the kernel's own word on whether programs had to wait for a CPU. */
#include "judge.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"

#define POINTS     2.0
#define TRIES      3  /* of a host that is busy */
#define STARVED    2  /* of a host that stays busy, this part of the limit */
#define STALL_MOST 10 /* percent of the time */

/* Microseconds in which some task waited for a CPU. A kernel that does not say counts as busy: it rises always. */
static uint64_t stalled_us(void)
{
        unsigned long long total = clock_now_ns() / 1000;
        FILE *file = fopen("/proc/pressure/cpu", "re");

        if (file && fscanf(file, "some %*s %*s %*s total=%llu", &total) != 1)
                total = clock_now_ns() / 1000;
        if (file)
                fclose(file);
        return total;
}

struct trial {
        double load;
        bool was_busy; /* the host */
};

static struct trial try_once(double (*measure)(void *closure), void *closure)
{
        const uint64_t stalled = stalled_us(), begin_ns = clock_now_ns();
        struct trial trial = { .load = measure(closure) };
        const uint64_t spent_us = (clock_now_ns() - begin_ns) / 1000;

        trial.was_busy = (stalled_us() - stalled) * 100 > spent_us * STALL_MOST;
        return trial;
}

static bool is_near(double load, double limit)
{
        return load >= limit - POINTS && load <= limit + POINTS;
}

void judge_limit(double limit, double (*measure)(void *closure), void *closure)
{
        struct trial trial = try_once(measure, closure);

        for (int i = 1; i < TRIES && !is_near(trial.load, limit) && trial.was_busy; i++)
                trial = try_once(measure, closure);
        if (is_near(trial.load, limit) ||
            (trial.was_busy && trial.load < limit && trial.load > limit / STARVED))
                return;
        fail_msg("%.1f %% of the GPU's time under a limit of %.0f, on a host that was %s",
                 trial.load, limit, trial.was_busy ? "busy" : "idle enough");
}

struct rounds {
        struct worker *worker;
        void (*round)(struct worker *worker);
        unsigned ms;
};

static double rounds_measure(void *closure)
{
        const struct rounds *rounds = closure;

        worker_run(rounds->worker, rounds->round, JUDGE_WARM_MS);
        return worker_run(rounds->worker, rounds->round, rounds->ms);
}

void judge_rounds(double limit, struct worker *worker, void (*round)(struct worker *worker),
                  unsigned ms)
{
        struct rounds rounds = { worker, round, ms };

        judge_limit(limit, rounds_measure, &rounds);
}
