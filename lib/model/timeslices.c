/* SPDX-License-Identifier: Apache-2.0 */
/* timeslices: the states of the token; see timeslices.h. What they cost is timeslice_cost.c's, how long they
 * are timeslice_length.c's. */
#include "timeslices.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "timeslice_cost.h"
#include "timeslice_length.h"

/* Eight quanta of 4 ms without the end of the work, where nobody knows when that is, or without any sign
 * of life: a kernel that runs for ever or waits for somebody who has no time slice; or a process that is
 * dead or stopped. Work whose end is known is waited for half as long again, if that is not too far. */
#define DRAIN_NS     (32 * NS_PER_MS)
#define LEFT_MOST_NS (4 * NS_PER_S)
/* Where memory is swapped, kernels wait for it page by page, many times longer than a prefetch takes. */
enum { DRAIN_SWAPS = 16 };
/* A time slice that nobody takes up: stopped, or gone. */
#define TAKE_UP_NS (8 * NS_PER_MS)
/* One may be late; whoever does so again and again is passed over for twice as long each time. */
enum { BACK_OFF_DOUBLINGS = 7 };
#define BACK_OFF_NS (8 * NS_PER_MS)
/* The token is passed on so long before the last work should be done: time to wake up. */
#define EARLY_NS (4 * NS_PER_MS)
/* Whose work took this much longer than it said is not believed for a while. */
#define BROKEN_NS   (2 * NS_PER_MS)
#define DISTRUST_NS NS_PER_S
/* Whose work did not end at all is not waited for any longer than for work of which nobody knows the end. */
#define DISTRUST_LAPSE_NS (60 * NS_PER_S)
/* A tenant without time slices is asked to come back after this, and each time it cannot after twice as
 * long: most have one piece of work that was too long, some have a kernel that never ends. */
#define RETURN_LEAST_NS (50 * NS_PER_MS)
#define RETURN_MOST_NS  NS_PER_S
/* What is submitted cannot be called back: whoever waits, waits for it. */
#define IN_FLIGHT_NS         (4 * NS_PER_MS)
#define IN_FLIGHT_LATENCY_NS (1 * NS_PER_MS)

static uint64_t drain_ns(const struct timeslices *timeslices)
{
        return DRAIN_NS + DRAIN_SWAPS * timeslices->swap_ns;
}

/* How long its work may take from when it was told to drain. */
static uint64_t patience_ns(const struct timeslices *timeslices,
                            const struct timeslices_tenant *tenant)
{
        uint64_t left_ns = tenant->report.done_ns > tenant->state_since_ns
                                   ? tenant->report.done_ns - tenant->state_since_ns
                                   : 0;

        /* Who has just come and is waited for by all may do so again and again. */
        if (tenant->state_since_ns < tenant->distrusted_ns || tenant->is_awaited)
                left_ns = 0;
        if (left_ns > LEFT_MOST_NS)
                left_ns = LEFT_MOST_NS;
        return drain_ns(timeslices) + left_ns + left_ns / 2;
}

void timeslices_init(struct timeslices *timeslices, uint64_t now_ns)
{
        memset(timeslices, 0, sizeof *timeslices);
        timeslices_init_zeroed(timeslices, now_ns);
}

void timeslices_init_zeroed(struct timeslices *timeslices, uint64_t now_ns)
{
        timeslices->holder = timeslices->draining = TIMESLICES_NOBODY;
        timeslices->clock_ns = now_ns;
}

static void tenant_enter(struct timeslices *timeslices, struct timeslices_tenant *tenant,
                         enum timeslices_state state)
{
        tenant->state = state;
        tenant->number++;
        tenant->state_since_ns = timeslices->clock_ns;
}

/* The time since the last step is paid out first: a tenant alone makes none for minutes. */
int timeslices_add(struct timeslices *timeslices, const struct timeslices_limits *limits,
                   bool may_be_active, uint64_t now_ns)
{
        timeslice_cost_pass_time(timeslices, now_ns);
        for (int i = 0; i < TIMESLICES_TENANTS; i++) {
                struct timeslices_tenant *tenant = &timeslices->tenants[i];
                const uint32_t number = tenant->number;

                if (tenant->state != TIMESLICES_ABSENT)
                        continue;
                *tenant = (struct timeslices_tenant){
                        .limits = *limits,
                        .number = number,
                        .virtual_time = timeslices->virtual_clock,
                        .settled_ns = timeslices->clock_ns,
                        .is_awaited = may_be_active,
                };
                tenant_enter(timeslices, tenant, may_be_active ? TIMESLICES_FREE : TIMESLICES_OUT);
                if (i >= timeslices->high)
                        timeslices->high = i + 1;
                return i;
        }
        return -EUSERS;
}

void timeslices_remove(struct timeslices *timeslices, int tenant, uint64_t now_ns)
{
        timeslice_cost_pass_time(timeslices, now_ns);
        timeslices->tenants[tenant].state = TIMESLICES_ABSENT;
        timeslices->tenants[tenant].number++;
        if (timeslices->holder == tenant)
                timeslices->holder = TIMESLICES_NOBODY;
        if (timeslices->draining == tenant)
                timeslices->draining = TIMESLICES_NOBODY;
}

void timeslices_limit(struct timeslices *timeslices, int tenant,
                      const struct timeslices_limits *limits)
{
        struct timeslices_tenant *t = &timeslices->tenants[tenant];

        /* What it owed under another limit is the tenant's own sum's to say. */
        if (limits->cap_ns_per_s != t->limits.cap_ns_per_s && t->balance_ns < 0)
                t->balance_ns = 0;
        t->limits = *limits;
}

void timeslices_report(struct timeslices *timeslices, int tenant,
                       const struct timeslices_report *report)
{
        struct timeslices_tenant *t = &timeslices->tenants[tenant];

        if (t->is_deaf && report->signs != t->signs_when_deaf &&
            timeslices->clock_ns >= t->deaf_until_ns) {
                t->is_deaf = false;
                timeslice_cost_return(timeslices, t);
        }
        if (report->is_active || report->has_begun)
                t->has_begun = true;
        if (report->done_ns)
                t->said_done_ns = report->done_ns;
        t->report = *report;
}

/* Of those who are due, the one that had least for its weight. */
static int next_holder(const struct timeslices *timeslices)
{
        int best = TIMESLICES_NOBODY;

        for (int i = 0; i < timeslices->high; i++)
                if (timeslice_tenant_is_due(&timeslices->tenants[i]) &&
                    (best == TIMESLICES_NOBODY ||
                     timeslices->tenants[i].virtual_time < timeslices->tenants[best].virtual_time))
                        best = i;
        return best;
}

static void holder_close(struct timeslices *timeslices, struct timeslices_tenant *holder)
{
        tenant_enter(timeslices, holder, TIMESLICES_CLOSING);
        holder->deadline_ns = 0;
}

static bool is_silent(const struct timeslices *timeslices, const struct timeslices_tenant *tenant)
{
        return timeslices->clock_ns - tenant->sign_ns >= drain_ns(timeslices);
}

/* One at a time, and not where memory changes hands as well. */
static bool may_pass_early(const struct timeslices *timeslices,
                           const struct timeslices_tenant *tenant)
{
        return tenant->state == TIMESLICES_CLOSING && tenant->report.is_draining &&
               timeslices->draining == TIMESLICES_NOBODY && !timeslices->swap_ns &&
               tenant->report.done_ns > timeslices->clock_ns &&
               timeslices->clock_ns >= tenant->trusted_ns;
}

/* Its time slice ends when its work does; what it used is settled then. Its word stays as it is. */
static void pass_early(struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        timeslices->draining = timeslices->holder;
        timeslices->holder = TIMESLICES_NOBODY;
        tenant->promised_ns = tenant->report.done_ns;
        tenant->state = TIMESLICES_DRAINING;
}

/* 0: not yet. A time slice may be given before it begins. */
static uint64_t passed_ns(const struct timeslices *timeslices, uint64_t since_ns)
{
        return timeslices->clock_ns > since_ns ? timeslices->clock_ns - since_ns : 0;
}

static void token_release(struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        timeslices->ended_ns = timeslices->clock_ns;
        if (tenant->said_done_ns > tenant->timeslice_since_ns &&
            tenant->said_done_ns < timeslices->clock_ns)
                timeslices->ended_ns = tenant->said_done_ns;
        timeslice_cost_settle(timeslices, tenant);
        if (tenant->has_begun)
                tenant->untaken = 0;
        tenant->held_ns += passed_ns(timeslices, tenant->timeslice_since_ns);
        if (tenant->state == TIMESLICES_CLOSING) {
                timeslices->holder = TIMESLICES_NOBODY;
                return;
        }
        timeslices->draining = TIMESLICES_NOBODY;
        if (passed_ns(timeslices, tenant->promised_ns) > BROKEN_NS)
                tenant->trusted_ns = timeslices->clock_ns + DISTRUST_NS;
}

/* Was told to close before this report: inactive now is inactive for good. */
static void closing_step(struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        const uint64_t waited_ns = timeslices->clock_ns - tenant->state_since_ns;
        const bool is_late =
                waited_ns >= patience_ns(timeslices, tenant) || is_silent(timeslices, tenant);

        if (tenant->report.is_active && !is_late) {
                if (may_pass_early(timeslices, tenant) &&
                    tenant->report.done_ns - timeslices->clock_ns <= EARLY_NS)
                        pass_early(timeslices, tenant);
                return;
        }
        token_release(timeslices, tenant);
        if (!tenant->report.is_active) {
                tenant_enter(timeslices, tenant, TIMESLICES_OUT);
                return;
        }
        tenant->lapses++;
        /* Or it takes back what it was waited for so long. */
        if (tenant->report.done_ns || waited_ns > 2 * drain_ns(timeslices))
                tenant->distrusted_ns = timeslices->clock_ns + DISTRUST_LAPSE_NS;
        tenant->return_ns = RETURN_LEAST_NS;
        timeslice_cost_leave(timeslices, tenant);
        tenant_enter(timeslices, tenant, TIMESLICES_FREE);
}

static void back_off(const struct timeslices *timeslices, struct timeslices_tenant *holder)
{
        const uint32_t doublings =
                holder->untaken < BACK_OFF_DOUBLINGS ? holder->untaken : BACK_OFF_DOUBLINGS;

        holder->deaf_until_ns =
                timeslices->clock_ns + (doublings ? BACK_OFF_NS << doublings >> 1 : 0);
        holder->untaken++;
}

static void holder_lapse(struct timeslices *timeslices, struct timeslices_tenant *holder)
{
        back_off(timeslices, holder);
        holder->is_deaf = true;
        timeslice_cost_leave(timeslices, holder);
        holder->signs_when_deaf = holder->report.signs;
        holder->lapses++;
        holder_close(timeslices, holder);
}

/* Moves the deadline as others come and go; true: the time slice is over. */
static bool holder_is_over(struct timeslices *timeslices, struct timeslices_tenant *holder)
{
        const int next = next_holder(timeslices);

        if (!holder->report.is_active && (holder->has_begun || !holder->report.wants))
                return next != TIMESLICES_NOBODY || holder->report.wants;
        if (holder->report.is_draining && holder->has_begun) /* submits no more in this one */
                return true;
        if (next == TIMESLICES_NOBODY) {
                holder->deadline_ns = TIMESLICES_NEVER;
                return false;
        }
        const uint64_t end_ns = holder->timeslice_since_ns +
                                timeslice_length_ns(timeslices, holder, &timeslices->tenants[next]);
        if (end_ns < holder->deadline_ns)
                holder->deadline_ns = end_ns;
        return timeslices->clock_ns >= holder->deadline_ns || is_silent(timeslices, holder);
}

static void holder_step(struct timeslices *timeslices, struct timeslices_tenant *holder)
{
        if (holder->has_begun && !holder->is_timed && holder->report.begun_ns >= holder->granted_ns)
                timeslice_change_judge(timeslices, holder);
        const bool is_untaken = !holder->has_begun &&
                                passed_ns(timeslices, holder->timeslice_since_ns) >= TAKE_UP_NS;

        /* The last holder keeps an idle token; nobody has to ask for what nobody else wants. */
        if (is_untaken && (holder->report.wants || next_holder(timeslices) != TIMESLICES_NOBODY))
                holder_lapse(timeslices, holder);
        else if (holder_is_over(timeslices, holder))
                holder_close(timeslices, holder);
}

/* When the work of whoever drains should be done, and not much later than it said first. */
static uint64_t not_before_ns(const struct timeslices *timeslices)
{
        if (timeslices->draining == TIMESLICES_NOBODY)
                return 0;
        const struct timeslices_tenant *t = &timeslices->tenants[timeslices->draining];
        const uint64_t most_ns = t->promised_ns + BROKEN_NS;

        return t->report.done_ns < most_ns ? t->report.done_ns : most_ns;
}

static void grant(struct timeslices *timeslices, int next)
{
        struct timeslices_tenant *tenant = &timeslices->tenants[next];
        const uint64_t begin_ns = not_before_ns(timeslices);

        timeslices->holder = next;
        if (tenant->virtual_time > timeslices->virtual_clock)
                timeslices->virtual_clock = tenant->virtual_time;
        tenant_enter(timeslices, tenant, TIMESLICES_HOLDER);
        tenant->timeslice_since_ns =
                begin_ns > timeslices->clock_ns ? begin_ns : timeslices->clock_ns;
        tenant->deadline_ns = TIMESLICES_NEVER;
        tenant->sign_ns = timeslices->clock_ns;
        tenant->has_begun = tenant->is_timed = false;
        tenant->granted_ns = timeslices->clock_ns;
        tenant->timeslices++;
        timeslice_cost_begin(tenant);
        holder_is_over(timeslices, tenant); /* sets the deadline */
}

/* Free tenants come back when they have nothing on the GPU, and are asked to now and then. */
static void free_step(struct timeslices *timeslices, struct timeslices_tenant *tenant)
{
        const uint64_t for_ns = timeslices->clock_ns - tenant->state_since_ns;

        timeslice_cost_settle(timeslices, tenant);
        if (tenant->state == TIMESLICES_FREE) {
                if (!tenant->report.is_active || for_ns >= tenant->return_ns || tenant->is_awaited)
                        tenant_enter(timeslices, tenant, TIMESLICES_RETURNING);
                return;
        }
        if (tenant->report.is_active && for_ns < patience_ns(timeslices, tenant))
                return;
        tenant->return_ns = tenant->return_ns < RETURN_LEAST_NS  ? RETURN_LEAST_NS
                            : tenant->return_ns < RETURN_MOST_NS ? 2 * tenant->return_ns
                                                                 : RETURN_MOST_NS;
        tenant->lapses += tenant->is_awaited && tenant->report.is_active;
        tenant->is_awaited = false;
        if (!tenant->report.is_active)
                timeslice_cost_return(timeslices, tenant);
        tenant_enter(timeslices, tenant,
                     tenant->report.is_active ? TIMESLICES_FREE : TIMESLICES_OUT);
}

static void token_step(struct timeslices *timeslices)
{
        if (timeslices->draining != TIMESLICES_NOBODY)
                closing_step(timeslices, &timeslices->tenants[timeslices->draining]);
        if (timeslices->holder == TIMESLICES_NOBODY)
                return;
        struct timeslices_tenant *holder = &timeslices->tenants[timeslices->holder];

        if (holder->state == TIMESLICES_CLOSING)
                closing_step(timeslices, holder);
        else
                holder_step(timeslices, holder);
}

static bool tenant_is_free(const struct timeslices_tenant *tenant)
{
        return tenant->state == TIMESLICES_FREE || tenant->state == TIMESLICES_RETURNING;
}

/* Those who ran before there were time slices drain before the first is given. */
static bool somebody_is_awaited(const struct timeslices *timeslices)
{
        for (int i = 0; i < timeslices->high; i++)
                if (tenant_is_free(&timeslices->tenants[i]) && timeslices->tenants[i].is_awaited)
                        return true;
        return false;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
        return a_ns < b_ns ? a_ns : b_ns;
}

static uint64_t tenant_timer_ns(const struct timeslices *timeslices,
                                const struct timeslices_tenant *tenant)
{
        const uint64_t silent_ns = tenant->sign_ns + drain_ns(timeslices);

        switch (tenant->state) {
        case TIMESLICES_HOLDER:
                if (!tenant->has_begun && tenant->report.wants)
                        return earlier(tenant->deadline_ns,
                                       tenant->timeslice_since_ns + TAKE_UP_NS);
                return tenant->deadline_ns == TIMESLICES_NEVER
                               ? TIMESLICES_NEVER
                               : earlier(tenant->deadline_ns, silent_ns);
        case TIMESLICES_CLOSING:
        case TIMESLICES_DRAINING:
                if (may_pass_early(timeslices, tenant) &&
                    tenant->report.done_ns - timeslices->clock_ns > EARLY_NS)
                        return earlier(tenant->report.done_ns - EARLY_NS, silent_ns);
                return earlier(tenant->state_since_ns + patience_ns(timeslices, tenant), silent_ns);
        case TIMESLICES_RETURNING:
                return tenant->state_since_ns + patience_ns(timeslices, tenant);
        case TIMESLICES_FREE:
                return tenant->state_since_ns + tenant->return_ns;
        case TIMESLICES_OUT:
                return timeslice_tenant_waits(tenant) && tenant->balance_ns < 0
                               ? timeslices->clock_ns + timeslice_cost_pay_ns(tenant)
                               : TIMESLICES_NEVER;
        default:
                return TIMESLICES_NEVER;
        }
}

static void off_step(struct timeslices *timeslices)
{
        timeslices->holder = timeslices->draining = TIMESLICES_NOBODY;
        for (int i = 0; i < timeslices->high; i++)
                if (timeslices->tenants[i].state != TIMESLICES_ABSENT &&
                    timeslices->tenants[i].state != TIMESLICES_FREE)
                        tenant_enter(timeslices, &timeslices->tenants[i], TIMESLICES_FREE);
}

uint64_t timeslices_step(struct timeslices *timeslices, uint64_t now_ns)
{
        uint64_t timer_ns = TIMESLICES_NEVER;

        timeslice_cost_pass_time(timeslices, now_ns);
        if (timeslices->is_off) {
                off_step(timeslices);
                return TIMESLICES_NEVER;
        }
        for (int i = 0; i < timeslices->high; i++)
                if (tenant_is_free(&timeslices->tenants[i]))
                        free_step(timeslices, &timeslices->tenants[i]);
        token_step(timeslices);
        const int next = next_holder(timeslices);
        if (next != TIMESLICES_NOBODY && timeslices->holder == TIMESLICES_NOBODY &&
            !somebody_is_awaited(timeslices))
                grant(timeslices, next);
        for (int i = 0; i < timeslices->high; i++)
                timer_ns = earlier(timer_ns, tenant_timer_ns(timeslices, &timeslices->tenants[i]));
        return timer_ns;
}

struct timeslices_grant timeslices_grant(const struct timeslices *timeslices, int tenant)
{
        const struct timeslices_tenant *t = &timeslices->tenants[tenant];

        return (struct timeslices_grant){
                .is_open = t->state == TIMESLICES_HOLDER,
                .is_free = t->state == TIMESLICES_FREE,
                .number = t->number,
                .deadline_ns = t->state == TIMESLICES_HOLDER ? t->deadline_ns
                               : t->state == TIMESLICES_FREE ? TIMESLICES_NEVER
                                                             : 0,
                .quantum_ns = timeslices_quantum_ns(timeslices),
                .in_flight_ns = timeslice_latency_is_present(timeslices) ? IN_FLIGHT_LATENCY_NS
                                                                         : IN_FLIGHT_NS,
                .not_before_ns = t->state == TIMESLICES_HOLDER ? not_before_ns(timeslices) : 0,
                .is_crowded = timeslices->swap_ns > 0,
        };
}

uint64_t timeslices_others_bytes(const struct timeslices *timeslices, int tenant)
{
        const uint64_t own = timeslice_cost_movable_bytes(timeslices, &timeslices->tenants[tenant]);

        return timeslices->movable_bytes > own ? timeslices->movable_bytes - own : 0;
}

bool timeslices_are_needed(const struct timeslices *timeslices)
{
        unsigned tenants = 0, parts = timeslices->resident_bytes > timeslices->device_bytes;

        for (int i = 0; i < timeslices->high; i++) {
                const struct timeslices_tenant *tenant = &timeslices->tenants[i];

                if (tenant->state == TIMESLICES_ABSENT)
                        continue;
                tenants++;
                parts += tenant->limits.weight || tenant->limits.cap_ns_per_s;
        }
        return tenants > 1 && parts > 0 && !timeslices->is_off;
}

bool timeslices_is_contended(const struct timeslices *timeslices)
{
        for (int i = 0; i < timeslices->high; i++)
                if (timeslices->tenants[i].report.wants &&
                    (timeslices->tenants[i].state == TIMESLICES_OUT ||
                     timeslices->tenants[i].state == TIMESLICES_CLOSING ||
                     timeslices->tenants[i].state == TIMESLICES_DRAINING))
                        return true;
        return false;
}
