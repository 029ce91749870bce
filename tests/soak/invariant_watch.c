/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU counted and what the container was charged, sample by sample, and whether both go together. */
#include "clock.h"
#include "invariant.h"
#include "timeline.h"

#define WINDOW_NS NS_PER_S
/* Work that is done is settled within one poll of libvgpu's own thread (region_pending_interval_ns()), and what a batch
 * holds with it. */
#define SETTLE_NS (6 * NS_PER_MS)
#define END_NS    (200 * NS_PER_MS)
#define STEP_NS   (3 * NS_PER_MS) /* between two looks, on an idle host */
/* Of the dead half a poll is charged for what nobody saw: up to 2.5 ms too much or too little, and over many right. */
#define UNSEEN_NS (NS_PER_MS / 2)
/* The record of use has steps of 10 µs, and a launch its latency. */
enum { ROUNDING_PART = 100 };

void invariant_sample(struct invariant_watch *watch)
{
        const struct machine_unit *unit = machine_unit(&watch->machine, 0);
        struct invariant_sample sample = { .at_ns = clock_now_ns() };
        uint64_t clock_ns;

        if (watch->sample_count == INVARIANT_SAMPLES)
                return;
        do {
                timeline_advance(&watch->machine, 0);
                clock_ns = unit->clock_ns;
                sample.done_ns = unit->engines[ENGINE_COMPUTE].busy_ns;
        } while (clock_ns != unit->clock_ns);
        /* Afterwards: what is charged meanwhile does not accuse anybody. */
        sample.charged_ns = atomic_load(&watch->region.file->computes[0].gpu_ns);
        watch->samples[watch->sample_count++] = sample;
}

static uint64_t late_in(const struct invariant_watch *watch, unsigned first, unsigned last)
{
        uint64_t gap_ns = 0;

        for (unsigned i = first + 1; i <= last; i++) {
                const uint64_t ns = watch->samples[i].at_ns - watch->samples[i - 1].at_ns;

                gap_ns = ns > gap_ns ? ns : gap_ns;
        }
        return gap_ns > STEP_NS ? gap_ns - STEP_NS : 0;
}

/* One launch of each process that lived meanwhile, and the time until that would be settled on this host. */
static uint64_t launches_ns(const struct invariant_watch *watch, uint64_t begin_ns, uint64_t end_ns,
                            uint64_t late_ns)
{
        uint64_t sum_ns = 0;

        for (unsigned i = 0; i < watch->life_count; i++) {
                const struct invariant_life *life = &watch->lives[i];

                if (life->begin_ns > end_ns || (life->end_ns && life->end_ns < begin_ns))
                        continue;
                sum_ns += life->programs * (life->longest_ns + SETTLE_NS + 2 * late_ns);
        }
        return sum_ns;
}

static void window_judge(const struct invariant_watch *watch, unsigned first, unsigned last,
                         struct invariant_verdict *verdict)
{
        const struct invariant_sample *a = &watch->samples[first], *b = &watch->samples[last];
        const uint64_t late_ns = late_in(watch, first, last);
        const int64_t missing_ns =
                (int64_t)(b->done_ns - a->done_ns) - (int64_t)(b->charged_ns - a->charged_ns);
        const int64_t beyond_ns =
                missing_ns - (int64_t)launches_ns(watch, a->at_ns, b->at_ns, late_ns);

        if (!verdict->windows++ || beyond_ns > verdict->worst_ns) {
                verdict->worst_ns = beyond_ns;
                verdict->worst_at_ns = a->at_ns - watch->samples[0].at_ns;
        }
}

/* How late this host woke anybody about the time of its end: who is not on a core sees nothing of its work. */
static uint64_t late_at_end(const struct invariant_watch *watch, const struct invariant_life *life)
{
        unsigned first = 0, last = 0;

        for (unsigned i = 0; i < watch->sample_count; i++) {
                first = watch->samples[i].at_ns + END_NS < life->end_ns ? i : first;
                last = watch->samples[i].at_ns < life->end_ns + END_NS ? i : last;
        }
        return late_in(watch, first, last);
}

static uint64_t unseen_ns(const struct invariant_watch *watch, const struct invariant_life *life)
{
        return life->programs * UNSEEN_NS + late_at_end(watch, life) +
               (life->was_stopped ? life->longest_ns : 0);
}

/* All are dead, and somebody has looked for them: only what the dead did after they were last seen is uncertain. */
static void whole_judge(const struct invariant_watch *watch, struct invariant_verdict *verdict)
{
        const struct invariant_sample *a = &watch->samples[0],
                                      *b = &watch->samples[watch->sample_count - 1];

        verdict->done_ns = b->done_ns - a->done_ns;
        verdict->charged_ns = b->charged_ns - a->charged_ns;
        verdict->allowed_ns = verdict->done_ns / ROUNDING_PART + SETTLE_NS;
        for (unsigned i = 0; i < watch->life_count; i++)
                verdict->allowed_ns += unseen_ns(watch, &watch->lives[i]);
}

void invariant_judge(const struct invariant_watch *watch, struct invariant_verdict *ret_verdict)
{
        unsigned last = 0;

        *ret_verdict = (struct invariant_verdict){ 0 };
        for (unsigned first = 0; first < watch->sample_count; first++) {
                while (last < watch->sample_count &&
                       watch->samples[last].at_ns < watch->samples[first].at_ns + WINDOW_NS)
                        last++;
                if (last == watch->sample_count)
                        break;
                window_judge(watch, first, last, ret_verdict);
        }
        ret_verdict->late_ns = late_in(watch, 0, watch->sample_count - 1);
        whole_judge(watch, ret_verdict);
}
