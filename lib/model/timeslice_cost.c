/* SPDX-License-Identifier: Apache-2.0 */
/* What a time slice costs. */
#include "timeslice_cost.h"

#include "clock.h"

enum {
        VIRTUAL_SCALE = 64, /* virtual time is GPU time × this / weight */
        WAKE_QUANTA = 2,    /* what a sleeper may have saved up */
        BREATH_QUANTA = 10, /* … and one who slept no longer than that */
        SWAP_PERCENT = 10,  /* of all time, at most, may go into swapping */
        PRESENT_S = 10,     /* whoever wanted this recently has its memory there */
        MARGIN = 64,        /* the tenant's own sum is the exact one: ours is a 64th wider */
        BALANCE_PER_S = 10, /* a balance holds a tenth of a second's income */
        BALANCE_QUANTA = 2,
        AWAY_PART =
                16, /* of the time that a tenant was away: who used less of it did not ask for it */
        KEPT_S = 16, /* of income, at most, that waiting for others leaves unused */
        WHOLE = 100,
};
#define CROWDED_QUANTUM_MOST_NS (10 * NS_PER_S)
#define SWAP_MOST_NS            (60 * NS_PER_S)
/* A holder that keeps others waiting for longer pays for all of it, whatever it says. */
#define OVERTIME_NS (32 * NS_PER_MS)
/* A host that is busy may keep a tenant from its core for less than this. */
#define AWAY_NS NS_PER_S
/* Longer between two steps, and nobody looked for signs of life. */
#define UNSEEN_NS (16 * NS_PER_MS)

static uint64_t weight_of(const struct timeslices_tenant *tenant)
{
        return tenant->weight ? tenant->weight : 1;
}

/* Those who have no part of their own share what the others' parts leave. */
static void weights_judge(struct timeslices *timeslices)
{
        uint32_t given = 0, others = 0;

        for (int i = 0; i < timeslices->high; i++) {
                if (timeslices->tenants[i].state == TIMESLICES_ABSENT)
                        continue;
                given += timeslices->tenants[i].limits.weight;
                others += timeslices->tenants[i].limits.weight == 0;
        }
        const uint32_t remainder = given < WHOLE && others ? (WHOLE - given) / others : 0;
        for (int i = 0; i < timeslices->high; i++) {
                struct timeslices_tenant *tenant = &timeslices->tenants[i];

                tenant->weight = tenant->limits.weight ? tenant->limits.weight : remainder;
        }
}

static uint64_t income_ns_per_s(const struct timeslices_tenant *tenant)
{
        return tenant->limits.cap_ns_per_s + tenant->limits.cap_ns_per_s / MARGIN;
}

static void balance_cap(const struct timeslices *timeslices, struct timeslices_tenant *tenant,
                        bool is_settled)
{
        const uint64_t income = income_ns_per_s(tenant);
        const int64_t most_ns = (int64_t)(income / BALANCE_PER_S +
                                          BALANCE_QUANTA * timeslices_quantum_ns(timeslices));
        const int64_t above_ns = tenant->balance_ns - most_ns, kept_ns = (int64_t)tenant->kept_ns;

        if (above_ns > kept_ns)
                tenant->balance_ns = most_ns + kept_ns;
        else if (is_settled) /* what it used came out of what was kept */
                tenant->kept_ns = above_ns > 0 ? (uint64_t)above_ns : 0;
}

static void balance_fill(struct timeslices_tenant *tenant, uint64_t span_ns)
{
        const uint64_t income = income_ns_per_s(tenant);

        if (!income) {
                tenant->balance_ns = 0;
                return;
        }
        tenant->balance_ns += (int64_t)((double)span_ns * (double)income / (double)NS_PER_S);
}

/* What it earns while it waits for others is kept, however long they take; whoever wants nothing for a
 * while has not saved it up. */
static void balance_keep(const struct timeslices *timeslices, struct timeslices_tenant *tenant,
                         uint64_t span_ns)
{
        const uint64_t income = income_ns_per_s(tenant);

        if (timeslices->clock_ns - tenant->wanted_ns > NS_PER_S)
                tenant->kept_ns = 0;
        if (tenant->state != TIMESLICES_OUT || !tenant->was_wanting || tenant->is_deaf ||
            tenant->balance_ns < 0)
                return;
        tenant->kept_ns += (uint64_t)((double)span_ns * (double)income / (double)NS_PER_S);
        if (tenant->kept_ns > KEPT_S * income)
                tenant->kept_ns = KEPT_S * income;
}

static bool tenant_has_token(const struct timeslices_tenant *tenant)
{
        return tenant->state == TIMESLICES_HOLDER || tenant->state == TIMESLICES_CLOSING ||
               tenant->state == TIMESLICES_DRAINING;
}

/* What the tenant's work touches, as far as the GPU can hold it at a time. */
static uint64_t resident_bytes(const struct timeslices *timeslices,
                               const struct timeslices_tenant *tenant)
{
        const uint64_t bytes = tenant->report.resident_bytes;

        return bytes < timeslices->device_bytes ? bytes : timeslices->device_bytes;
}

uint64_t timeslice_cost_movable_bytes(const struct timeslices *timeslices,
                                      const struct timeslices_tenant *tenant)
{
        const uint64_t most = resident_bytes(timeslices, tenant);

        return tenant->report.movable_bytes < most ? tenant->report.movable_bytes : most;
}

/* What one change of hands brings onto the GPU, at most: what does not fit. */
static uint64_t overflow_bytes(const struct timeslices *timeslices)
{
        uint64_t sum = 0, largest = 0;

        for (int i = 0; i < timeslices->high; i++) {
                const struct timeslices_tenant *tenant = &timeslices->tenants[i];
                const uint64_t bytes = resident_bytes(timeslices, tenant);

                if (tenant->state == TIMESLICES_ABSENT || !tenant->wanted_ns ||
                    timeslices->clock_ns - tenant->wanted_ns > PRESENT_S * NS_PER_S)
                        continue;
                sum += bytes;
                largest = bytes > largest ? bytes : largest;
        }
        if (sum <= timeslices->device_bytes)
                return 0;
        return sum - timeslices->device_bytes < largest ? sum - timeslices->device_bytes : largest;
}

static void memory_sum(struct timeslices *timeslices)
{
        timeslices->resident_bytes = timeslices->movable_bytes = 0;
        for (int i = 0; i < timeslices->high; i++) {
                const struct timeslices_tenant *tenant = &timeslices->tenants[i];

                if (tenant->state == TIMESLICES_ABSENT)
                        continue;
                timeslices->resident_bytes += resident_bytes(timeslices, tenant);
                timeslices->movable_bytes += timeslice_cost_movable_bytes(timeslices, tenant);
        }
}

static void swap_judge(struct timeslices *timeslices)
{
        memory_sum(timeslices);
        const uint64_t bytes = timeslices->device_bytes ? overflow_bytes(timeslices) : 0;

        const double took_ns =
                bytes && timeslices->swap_bytes_per_s
                        ? (double)bytes * (double)NS_PER_S / (double)timeslices->swap_bytes_per_s
                        : 0;

        /* The figures are of files that a user may write to. */
        timeslices->swap_ns = took_ns < (double)SWAP_MOST_NS ? (uint64_t)took_ns : SWAP_MOST_NS;
}

static uint64_t busy_said_ns(const struct timeslices_tenant *tenant)
{
        return tenant->report.observed_ns > tenant->report.busy_ns ? tenant->report.observed_ns
                                                                   : tenant->report.busy_ns;
}

void timeslice_cost_begin(struct timeslices_tenant *tenant)
{
        tenant->settled_ns = tenant->timeslice_since_ns;
        tenant->busy_when_settled_ns = busy_said_ns(tenant);
}

/* The time that the tenant reports, but at most the time that passed. While it has the token no other
 * tenant runs, so its virtual time grows by at least half of the elapsed time, whatever it reports; by all of it
 * where it did not take the time slice up. */
void timeslice_cost_settle(struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        const uint64_t span_ns = timeslices->clock_ns > tenant->settled_ns
                                         ? timeslices->clock_ns - tenant->settled_ns
                                         : 0; /* told before it may begin */
        const uint64_t said_ns = busy_said_ns(tenant);
        uint64_t used_ns =
                said_ns > tenant->busy_when_settled_ns ? said_ns - tenant->busy_when_settled_ns : 0;

        if (used_ns > span_ns)
                used_ns = span_ns;
        tenant->settled_ns += span_ns;
        tenant->busy_when_settled_ns += used_ns; /* what was measured late counts next time */
        if (tenant->limits.cap_ns_per_s)
                tenant->balance_ns -= (int64_t)used_ns;
        balance_cap(timeslices, tenant, true);
        const bool is_overtime = tenant->state != TIMESLICES_HOLDER &&
                                 timeslices->clock_ns - tenant->state_since_ns > OVERTIME_NS;
        const uint64_t least_ns = is_overtime || !tenant->has_begun ? span_ns : span_ns / 2;
        if (tenant_has_token(tenant) && used_ns < least_ns)
                used_ns = least_ns;
        tenant->charged_ns += used_ns;
        tenant->virtual_time += used_ns * VIRTUAL_SCALE / weight_of(tenant);
}

/* The least virtual time of those who compete; if nobody does, where the last time slice began. */
static uint64_t virtual_least(const struct timeslices *timeslices,
                              const struct timeslices_tenant *except)
{
        uint64_t least = UINT64_MAX;

        for (int i = 0; i < timeslices->high; i++) {
                const struct timeslices_tenant *tenant = &timeslices->tenants[i];
                const bool competes =
                        tenant_has_token(tenant) || (tenant->state == TIMESLICES_OUT &&
                                                     tenant->report.wants && !tenant->is_deaf);

                if (competes && tenant != except && tenant->virtual_time < least)
                        least = tenant->virtual_time;
        }
        return least == UINT64_MAX ? timeslices->virtual_clock : least;
}

/* It is behind by so many quanta at most. */
static void behind_cap(struct timeslices *timeslices, struct timeslices_tenant *tenant,
                       unsigned quanta)
{
        if (timeslices->holder != TIMESLICES_NOBODY)
                timeslice_cost_settle(
                        timeslices,
                        &timeslices->tenants[timeslices->holder]); /* is where it is now */
        const uint64_t saved =
                quanta * timeslices_quantum_ns(timeslices) * VIRTUAL_SCALE / weight_of(tenant);
        const uint64_t least = virtual_least(timeslices, tenant);
        const uint64_t floor = least > saved ? least - saved : 0;

        if (tenant->virtual_time < floor)
                tenant->virtual_time = floor;
}

/* Wants again after it did not: it has not saved up more than two quanta. */
static void tenant_wake(struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        /* It only caught its breath: others may have had a long time slice meanwhile. */
        const bool is_short =
                tenant->wanted_ns && timeslices->clock_ns - tenant->wanted_ns <
                                             WAKE_QUANTA * timeslices_quantum_ns(timeslices);

        behind_cap(timeslices, tenant, is_short ? BREATH_QUANTA : WAKE_QUANTA);
}

void timeslice_cost_leave(const struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        if (tenant->away_since_ns)
                return;
        tenant->away_since_ns = timeslices->clock_ns;
        tenant->busy_when_away_ns = busy_said_ns(tenant);
}

void timeslice_cost_return(struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        const uint64_t away_ns = timeslices->clock_ns - tenant->away_since_ns;
        const uint64_t said_ns = busy_said_ns(tenant);
        const uint64_t used_ns =
                said_ns > tenant->busy_when_away_ns ? said_ns - tenant->busy_when_away_ns : 0;

        if (tenant->away_since_ns && away_ns >= AWAY_NS && used_ns < away_ns / AWAY_PART)
                behind_cap(timeslices, tenant, WAKE_QUANTA);
        tenant->away_since_ns = 0;
}

/* Without time slices it may do as it likes, and then be stopped. The first sign says what it did before. */
static void sign_take(struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        if (tenant->state != TIMESLICES_FREE && tenant->state != TIMESLICES_RETURNING)
                return;
        timeslice_cost_return(timeslices, tenant);
        timeslice_cost_leave(timeslices, tenant);
}

static void tenant_pass_time(struct timeslices *timeslices, struct timeslices_tenant *tenant,
                             uint64_t span_ns)
{
        balance_fill(tenant, span_ns);
        balance_keep(timeslices, tenant, span_ns);
        /* What is used meanwhile is taken off at the end of the time slice: until then it adds up. */
        if (!tenant_has_token(tenant))
                balance_cap(timeslices, tenant, false);
        if (tenant->was_wanting && !tenant_has_token(tenant) && tenant->state != TIMESLICES_FREE)
                tenant->waited_ns += span_ns;
        if (tenant->report.wants && !tenant->was_wanting && !tenant_has_token(tenant))
                tenant_wake(timeslices, tenant);
        if (tenant->report.wants && !tenant->was_wanting)
                tenant->wants_since_ns = timeslices->clock_ns;
        tenant->was_wanting = tenant->report.wants;
        if (tenant->report.signs != tenant->signs_seen)
                sign_take(timeslices, tenant);
        if (tenant->report.signs != tenant->signs_seen || !tenant->report.is_active)
                tenant->sign_ns = timeslices->clock_ns;
        else if (span_ns > UNSEEN_NS)
                tenant->sign_ns += span_ns - UNSEEN_NS;
        tenant->signs_seen = tenant->report.signs;
        if (tenant->report.wants)
                tenant->wanted_ns = timeslices->clock_ns;
}

void timeslice_cost_pass_time(struct timeslices *timeslices, uint64_t now_ns)
{
        const uint64_t span_ns = now_ns > timeslices->clock_ns ? now_ns - timeslices->clock_ns : 0;

        timeslices->clock_ns += span_ns;
        weights_judge(timeslices);
        for (int i = 0; i < timeslices->high; i++)
                if (timeslices->tenants[i].state != TIMESLICES_ABSENT)
                        tenant_pass_time(timeslices, &timeslices->tenants[i], span_ns);
        swap_judge(timeslices);
}

uint64_t timeslice_cost_behind_ns(const struct timeslices_tenant *tenant,
                                  const struct timeslices_tenant *other)
{
        if (other->virtual_time <= tenant->virtual_time)
                return 0;
        return (other->virtual_time - tenant->virtual_time) * weight_of(tenant) / VIRTUAL_SCALE;
}

uint64_t timeslice_cost_pay_ns(const struct timeslices_tenant *tenant)
{
        const uint64_t income = income_ns_per_s(tenant);
        const double owed_ns = (double)-tenant->balance_ns;

        return income ? (uint64_t)(owed_ns * (double)NS_PER_S / (double)income) + 1 : 0;
}

uint64_t timeslice_cost_crowded_quantum_ns(uint64_t swap_ns)
{
        const uint64_t quantum_ns = swap_ns * (100 - SWAP_PERCENT) / SWAP_PERCENT;

        return quantum_ns < CROWDED_QUANTUM_MOST_NS ? quantum_ns : CROWDED_QUANTUM_MOST_NS;
}
