/* SPDX-License-Identifier: Apache-2.0 */
/* Many processes race at the limit; the GPU never shows a byte more. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "limit.h"
#include "say.h"

/* Every process of its own, in turn with the racers for a core: as often as it can. */
static uint64_t watch(struct limit_run *run, unsigned seconds, uint64_t *ret_samples)
{
        uint64_t most = 0, end_ns = clock_now_ns() + seconds * NS_PER_S;

        while (clock_now_ns() < end_ns)
                for (unsigned i = 0; i < 1000; i++, ++*ret_samples) {
                        uint64_t now = limit_gpu_bytes(run);
                        most = now > most ? now : most;
                }
        return most;
}

static void report(const struct limit_run *run)
{
        uint64_t least = UINT64_MAX, refused = 0;

        for (unsigned i = 0; i < LIMIT_KINDS; i++) {
                uint64_t taken = run->shared->taken[i];
                printf("# %-8s %" PRIu64 " taken, %" PRIu64 " refused\n", limit_kind_name(i), taken,
                       run->shared->refused[i]);
                least = taken < least ? taken : least;
                refused += run->shared->refused[i];
        }
        say(least > 0 && refused > 0, "every kind was taken, and there were refusals");
        say(run->shared->wrong == 0, "no other answers (%" PRIu64 ")", run->shared->wrong);
}

void limit_race(unsigned processes, unsigned seconds)
{
        struct limit_run run;
        uint64_t samples = 0;
        int status, bad = 0;

        limit_open(&run, processes * 16 * MIB, 2 * MIB); /* about half of what they want */
        for (unsigned i = 0; i < processes; i++)
                if (limit_fork() == 0)
                        limit_work(run.shared, run.seed + i);
        uint64_t most = watch(&run, seconds, &samples);
        run.shared->is_paused = true;
        for (unsigned i = 0; run.shared->paused < processes && i < 20000; i++)
                usleep(1000);
        say(run.shared->paused == processes, "all %u processes are at work (%u)", processes,
            run.shared->paused);
        say(most <= run.limit_bytes,
            "in %" PRIu64 " samples the GPU never showed more than the limit (%" PRIu64
            " of %" PRIu64 ")",
            samples, most, run.limit_bytes);
        say(limit_agrees(&run), "stopped in the middle, region and GPU agree on every process");
        run.shared->is_over = true;
        run.shared->is_paused = false;
        while (wait(&status) > 0)
                bad += status != 0;
        say(bad == 0, "they end as they should (%d do not)", bad);
        report(&run);
        limit_check_whole(&run);
        limit_close(&run);
}
