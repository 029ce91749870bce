/* SPDX-License-Identifier: Apache-2.0 */
/* judge: by the machine's clock, and the kernel's own word on how long programs had to wait for a CPU. */
#include "judge.h"

#define POINTS     2.0
#define LATE_LEAST 2.0  /* percent of the time: less is no busy host */
#define LATE_MOST  50.0 /* of more nothing is taken off */

/* Of a small limit two points are no judgement. */
static double points(double limit)
{
        return limit < 2 * POINTS ? limit / 2 : POINTS;
}

/* While a program has work, and no CPU, it cannot use what its limit allows: that is the limit's part of this
 * time, and no more. */
static bool is_kept(struct load load, double limit)
{
        const double late = load.late_percent < LATE_MOST ? load.late_percent : LATE_MOST;

        return load.percent <= limit + points(limit) &&
               load.percent >= (limit - points(limit)) * (100 - late) / 100;
}

void judge_limit(double limit, struct load (*measure)(void *closure), void *closure)
{
        worker_hurry();
        struct load load = measure(closure);

        if (!is_kept(load, limit) && load.late_percent > LATE_LEAST)
                load = measure(closure);
        if (!is_kept(load, limit))
                fail_msg("%.1f %% of the GPU's time under a limit of %.0f; for %.1f %% of the time "
                         "there was no CPU for the program",
                         load.percent, limit, load.late_percent);
}

struct rounds {
        struct worker *worker;
        void (*round)(struct worker *worker);
        unsigned ms;
};

static struct load rounds_measure(void *closure)
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
