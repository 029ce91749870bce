/* SPDX-License-Identifier: Apache-2.0 */
/* How long a time slice is. */
#include "timeslice_length.h"

#include "clock.h"
#include "timeslice_cost.h"

/* The latency class counts as present this long after it last wanted anything. */
#define PRESENT_NS NS_PER_S

/* A time slice this long, for one that is far behind: others keep what they earn while they wait, but
 * whoever answers requests does not wait for that, and where memory changes hands all is longer. */
enum { TIMESLICE_QUANTA = 10, TIMESLICE_QUANTA_LATENCY = 2, TIMESLICE_QUANTA_CROWDED = 4 };

/* Where the GPU idles before a time slice because the host wakes its threads late, the time slice is so
 * many times longer than that, up to this. */
enum { CHANGE_TIMES = 60, CHANGE_FOLLOW = 8 };
#define CHANGE_MOST_NS  (10 * NS_PER_MS)
#define QUANTUM_MOST_NS (100 * NS_PER_MS)

bool timeslice_latency_is_present(const struct timeslices *timeslices)
{
        for (int i = 0; i < timeslices->high; i++) {
                const struct timeslices_tenant *tenant = &timeslices->tenants[i];

                if (tenant->state != TIMESLICES_ABSENT && tenant->limits.is_latency &&
                    tenant->wanted_ns && timeslices->clock_ns - tenant->wanted_ns < PRESENT_NS)
                        return true;
        }
        return false;
}

static bool latency_waits(const struct timeslices *timeslices)
{
        for (int i = 0; i < timeslices->high; i++)
                if (timeslices->tenants[i].limits.is_latency &&
                    timeslice_tenant_is_due(&timeslices->tenants[i]))
                        return true;
        return false;
}

uint64_t timeslices_quantum_ns(const struct timeslices *timeslices)
{
        if (timeslices->swap_ns)
                return timeslice_cost_crowded_quantum_ns(timeslices->swap_ns);
        if (latency_waits(timeslices))
                return 1 * NS_PER_MS;
        return timeslice_latency_is_present(timeslices) ? 4 * NS_PER_MS : 10 * NS_PER_MS;
}

static uint64_t own_quantum_ns(const struct timeslices *timeslices,
                               const struct timeslices_tenant *holder)
{
        const uint64_t quantum_ns = timeslices_quantum_ns(timeslices);
        const uint64_t worth_ns = holder->change_ns * CHANGE_TIMES;

        if (timeslices->swap_ns || timeslice_latency_is_present(timeslices) ||
            worth_ns <= quantum_ns)
                return quantum_ns;
        return worth_ns < QUANTUM_MOST_NS ? worth_ns : QUANTUM_MOST_NS;
}

/* A holder that is behind the next one gets the difference on top: one long time slice, not several with
 * a drain between them. */
uint64_t timeslice_length_ns(const struct timeslices *timeslices,
                             const struct timeslices_tenant *holder,
                             const struct timeslices_tenant *next)
{
        const uint64_t quantum_ns = own_quantum_ns(timeslices, holder);
        const uint64_t behind_ns = timeslice_cost_behind_ns(holder, next);
        const uint64_t most_ns =
                quantum_ns * (timeslices->swap_ns                        ? TIMESLICE_QUANTA_CROWDED
                              : timeslice_latency_is_present(timeslices) ? TIMESLICE_QUANTA_LATENCY
                                                                         : TIMESLICE_QUANTA);

        return quantum_ns + behind_ns < most_ns ? quantum_ns + behind_ns : most_ns;
}

void timeslice_change_judge(const struct timeslices *timeslices, struct timeslices_tenant *holder)
{
        const uint64_t from_ns = timeslices->ended_ns > holder->wants_since_ns
                                         ? timeslices->ended_ns
                                         : holder->wants_since_ns;
        uint64_t idle_ns =
                holder->report.begun_ns > from_ns ? holder->report.begun_ns - from_ns : 0;

        holder->is_timed = true;
        idle_ns = idle_ns < CHANGE_MOST_NS ? idle_ns : CHANGE_MOST_NS;
        /* What was said to end early and did not looks like idling: one that was short counts at once. */
        holder->change_ns =
                idle_ns < holder->change_ns
                        ? idle_ns
                        : (holder->change_ns * (CHANGE_FOLLOW - 1) + idle_ns) / CHANGE_FOLLOW;
}
