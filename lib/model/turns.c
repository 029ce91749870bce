/* turns: the states of the token; see turns.h. What they cost is turns_account.c's. */
#include "turns.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "turns_account.h"

/* Eight quanta of 4 ms without the end of the work, or any sign of life: a kernel that runs for ever
 * or waits for somebody who has no turn; or a process that is dead or stopped. */
#define DRAIN_NS (32 * NS_PER_MS)
/* Where memory is swapped, kernels wait for it page by page, many times longer than a prefetch takes. */
enum { DRAIN_SWAPS = 16 };
/* A turn that nobody takes up: stopped, or gone. */
#define TAKE_UP_NS (8 * NS_PER_MS)
/* A tenant without turns is asked to come back this often. */
#define RETURN_NS NS_PER_S
/* The latency class counts as present this long after it last wanted anything. */
#define PRESENT_NS NS_PER_S

/* Longer, and the others lose what they save up while they wait; where memory changes hands, that costs
 * less than a change. */
enum { TURN_QUANTA = 2, TURN_QUANTA_CROWDED = 4 };

/* What is submitted cannot be called back: whoever waits, waits for it. */
#define IN_FLIGHT_NS         (4 * NS_PER_MS)
#define IN_FLIGHT_LATENCY_NS (1 * NS_PER_MS)

static uint64_t drain_ns(const struct turns *turns)
{
        return DRAIN_NS + DRAIN_SWAPS * turns->swap_ns;
}

void turns_init(struct turns *turns, uint64_t now_ns)
{
        memset(turns, 0, sizeof *turns);
        turns_init_zeroed(turns, now_ns);
}

void turns_init_zeroed(struct turns *turns, uint64_t now_ns)
{
        turns->holder = TURNS_NOBODY;
        turns->clock_ns = now_ns;
}

static void tenant_enter(struct turns *turns, struct turns_tenant *tenant, enum turns_state state)
{
        tenant->state = state;
        tenant->number++;
        tenant->state_since_ns = turns->clock_ns;
}

int turns_add(struct turns *turns, const struct turns_limits *limits, bool may_be_active,
              uint64_t now_ns)
{
        for (int i = 0; i < TURNS_TENANTS; i++) {
                struct turns_tenant *tenant = &turns->tenants[i];
                const uint32_t number = tenant->number;

                if (tenant->state != TURNS_ABSENT)
                        continue;
                turns->clock_ns = now_ns > turns->clock_ns ? now_ns : turns->clock_ns;
                *tenant = (struct turns_tenant){
                        .limits = *limits,
                        .number = number,
                        .virtual_time = turns->virtual_clock,
                        .settled_ns = turns->clock_ns,
                        .is_awaited = may_be_active,
                };
                tenant_enter(turns, tenant, may_be_active ? TURNS_FREE : TURNS_OUT);
                if (i >= turns->high)
                        turns->high = i + 1;
                return i;
        }
        return -EUSERS;
}

void turns_remove(struct turns *turns, int tenant, uint64_t now_ns)
{
        turns->clock_ns = now_ns > turns->clock_ns ? now_ns : turns->clock_ns;
        turns->tenants[tenant].state = TURNS_ABSENT;
        turns->tenants[tenant].number++;
        if (turns->holder == tenant)
                turns->holder = TURNS_NOBODY;
}

void turns_limit(struct turns *turns, int tenant, const struct turns_limits *limits)
{
        turns->tenants[tenant].limits = *limits;
}

void turns_report(struct turns *turns, int tenant, const struct turns_report *report)
{
        struct turns_tenant *t = &turns->tenants[tenant];

        if (t->is_deaf && report->signs != t->signs_when_deaf)
                t->is_deaf = false;
        if (report->is_active || report->has_begun)
                t->has_begun = true;
        t->report = *report;
}

/* Waits for a turn; may have to wait for its balance first. */
static bool tenant_waits(const struct turns_tenant *tenant)
{
        return tenant->state == TURNS_OUT && tenant->report.wants && !tenant->is_deaf;
}

static bool tenant_is_due(const struct turns_tenant *tenant)
{
        return tenant_waits(tenant) && tenant->balance_ns >= 0;
}

/* Of those who are due, the one that had least for its weight. */
static int next_holder(const struct turns *turns)
{
        int best = TURNS_NOBODY;

        for (int i = 0; i < turns->high; i++)
                if (tenant_is_due(&turns->tenants[i]) &&
                    (best == TURNS_NOBODY ||
                     turns->tenants[i].virtual_time < turns->tenants[best].virtual_time))
                        best = i;
        return best;
}

static bool latency_is_present(const struct turns *turns)
{
        for (int i = 0; i < turns->high; i++) {
                const struct turns_tenant *tenant = &turns->tenants[i];

                if (tenant->state != TURNS_ABSENT && tenant->limits.is_latency &&
                    tenant->wanted_ns && turns->clock_ns - tenant->wanted_ns < PRESENT_NS)
                        return true;
        }
        return false;
}

static bool latency_waits(const struct turns *turns)
{
        for (int i = 0; i < turns->high; i++)
                if (turns->tenants[i].limits.is_latency && tenant_is_due(&turns->tenants[i]))
                        return true;
        return false;
}

uint64_t turns_quantum_ns(const struct turns *turns)
{
        if (turns->swap_ns)
                return account_crowded_quantum_ns(turns->swap_ns);
        if (latency_waits(turns))
                return 1 * NS_PER_MS;
        return latency_is_present(turns) ? 4 * NS_PER_MS : 10 * NS_PER_MS;
}

/* A holder that is behind the next one gets the difference on top: one long turn, not several with
 * a drain between them. */
static uint64_t turn_length_ns(const struct turns *turns, const struct turns_tenant *holder,
                               const struct turns_tenant *next)
{
        const uint64_t quantum_ns = turns_quantum_ns(turns);
        const uint64_t behind_ns = account_behind_ns(holder, next);
        const uint64_t most_ns = (turns->swap_ns ? TURN_QUANTA_CROWDED : TURN_QUANTA) * quantum_ns;

        return quantum_ns + behind_ns < most_ns ? quantum_ns + behind_ns : most_ns;
}

static void holder_close(struct turns *turns, struct turns_tenant *holder)
{
        tenant_enter(turns, holder, TURNS_CLOSING);
        holder->deadline_ns = 0;
}

static bool is_silent(const struct turns *turns, const struct turns_tenant *tenant)
{
        return turns->clock_ns - tenant->sign_ns >= drain_ns(turns);
}

/* Was told to close before this report: inactive now is inactive for good. */
static void closing_step(struct turns *turns, struct turns_tenant *tenant)
{
        const bool is_late = turns->clock_ns - tenant->state_since_ns >= drain_ns(turns) ||
                             is_silent(turns, tenant);

        if (tenant->report.is_active && !is_late)
                return;
        account_settle(turns, tenant);
        tenant->held_ns += turns->clock_ns - tenant->turn_since_ns;
        turns->holder = TURNS_NOBODY;
        if (!tenant->report.is_active) {
                tenant_enter(turns, tenant, TURNS_OUT);
                return;
        }
        tenant->lapses++;
        tenant_enter(turns, tenant, TURNS_FREE);
}

static void holder_lapse(struct turns *turns, struct turns_tenant *holder)
{
        holder->is_deaf = true;
        holder->signs_when_deaf = holder->report.signs;
        holder->lapses++;
        holder_close(turns, holder);
}

/* Moves the deadline as others come and go; true: the turn is over. */
static bool holder_is_over(struct turns *turns, struct turns_tenant *holder)
{
        const int next = next_holder(turns);

        if (!holder->report.is_active && (holder->has_begun || !holder->report.wants))
                return next != TURNS_NOBODY || holder->report.wants;
        if (next == TURNS_NOBODY) {
                holder->deadline_ns = TURNS_NEVER;
                return false;
        }
        const uint64_t end_ns =
                holder->turn_since_ns + turn_length_ns(turns, holder, &turns->tenants[next]);
        if (end_ns < holder->deadline_ns)
                holder->deadline_ns = end_ns;
        return turns->clock_ns >= holder->deadline_ns || is_silent(turns, holder);
}

static void holder_step(struct turns *turns, struct turns_tenant *holder)
{
        const bool is_untaken =
                !holder->has_begun && turns->clock_ns - holder->turn_since_ns >= TAKE_UP_NS;

        /* The last holder keeps an idle token; nobody has to ask for what nobody else wants. */
        if (is_untaken && (holder->report.wants || next_holder(turns) != TURNS_NOBODY))
                holder_lapse(turns, holder);
        else if (holder_is_over(turns, holder))
                holder_close(turns, holder);
}

static void grant(struct turns *turns, int next)
{
        struct turns_tenant *tenant = &turns->tenants[next];

        turns->holder = next;
        if (tenant->virtual_time > turns->virtual_clock)
                turns->virtual_clock = tenant->virtual_time;
        tenant_enter(turns, tenant, TURNS_HOLDER);
        tenant->turn_since_ns = turns->clock_ns;
        tenant->deadline_ns = TURNS_NEVER;
        tenant->sign_ns = turns->clock_ns;
        tenant->has_begun = false;
        tenant->turns++;
        account_begin(turns, tenant);
        holder_is_over(turns, tenant); /* sets the deadline */
}

/* Free tenants come back when they have nothing on the GPU, and are asked to now and then. */
static void free_step(struct turns *turns, struct turns_tenant *tenant)
{
        const uint64_t for_ns = turns->clock_ns - tenant->state_since_ns;

        account_settle(turns, tenant);
        if (tenant->state == TURNS_FREE) {
                if (!tenant->report.is_active || for_ns >= RETURN_NS || tenant->is_awaited)
                        tenant_enter(turns, tenant, TURNS_RETURNING);
                return;
        }
        if (tenant->report.is_active && for_ns < drain_ns(turns))
                return;
        tenant->lapses += tenant->is_awaited && tenant->report.is_active;
        tenant->is_awaited = false;
        tenant_enter(turns, tenant, tenant->report.is_active ? TURNS_FREE : TURNS_OUT);
}

static bool tenant_is_free(const struct turns_tenant *tenant)
{
        return tenant->state == TURNS_FREE || tenant->state == TURNS_RETURNING;
}

/* Those who ran before there were turns drain before the first is given. */
static bool somebody_is_awaited(const struct turns *turns)
{
        for (int i = 0; i < turns->high; i++)
                if (tenant_is_free(&turns->tenants[i]) && turns->tenants[i].is_awaited)
                        return true;
        return false;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
        return a_ns < b_ns ? a_ns : b_ns;
}

static uint64_t tenant_timer_ns(const struct turns *turns, const struct turns_tenant *tenant)
{
        const uint64_t silent_ns = tenant->sign_ns + drain_ns(turns);

        switch (tenant->state) {
        case TURNS_HOLDER:
                if (!tenant->has_begun && tenant->report.wants)
                        return earlier(tenant->deadline_ns, tenant->turn_since_ns + TAKE_UP_NS);
                return tenant->deadline_ns == TURNS_NEVER ? TURNS_NEVER
                                                          : earlier(tenant->deadline_ns, silent_ns);
        case TURNS_CLOSING:
                return earlier(tenant->state_since_ns + drain_ns(turns), silent_ns);
        case TURNS_RETURNING:
                return tenant->state_since_ns + drain_ns(turns);
        case TURNS_FREE:
                return tenant->state_since_ns + RETURN_NS;
        case TURNS_OUT:
                return tenant_waits(tenant) && tenant->balance_ns < 0
                               ? turns->clock_ns + account_pay_ns(tenant)
                               : TURNS_NEVER;
        default:
                return TURNS_NEVER;
        }
}

static void off_step(struct turns *turns)
{
        turns->holder = TURNS_NOBODY;
        for (int i = 0; i < turns->high; i++)
                if (turns->tenants[i].state != TURNS_ABSENT &&
                    turns->tenants[i].state != TURNS_FREE)
                        tenant_enter(turns, &turns->tenants[i], TURNS_FREE);
}

uint64_t turns_step(struct turns *turns, uint64_t now_ns)
{
        uint64_t timer_ns = TURNS_NEVER;

        account_pass_time(turns, now_ns);
        if (turns->is_off) {
                off_step(turns);
                return TURNS_NEVER;
        }
        for (int i = 0; i < turns->high; i++)
                if (tenant_is_free(&turns->tenants[i]))
                        free_step(turns, &turns->tenants[i]);
        if (turns->holder != TURNS_NOBODY) {
                struct turns_tenant *holder = &turns->tenants[turns->holder];

                if (holder->state == TURNS_CLOSING)
                        closing_step(turns, holder);
                else
                        holder_step(turns, holder);
        }
        const int next = next_holder(turns);
        if (next != TURNS_NOBODY && turns->holder == TURNS_NOBODY && !somebody_is_awaited(turns))
                grant(turns, next);
        for (int i = 0; i < turns->high; i++)
                timer_ns = earlier(timer_ns, tenant_timer_ns(turns, &turns->tenants[i]));
        return timer_ns;
}

struct turns_word turns_word(const struct turns *turns, int tenant)
{
        const struct turns_tenant *t = &turns->tenants[tenant];

        return (struct turns_word){
                .is_open = t->state == TURNS_HOLDER,
                .is_free = t->state == TURNS_FREE,
                .number = t->number,
                .deadline_ns = t->state == TURNS_HOLDER ? t->deadline_ns
                               : t->state == TURNS_FREE ? TURNS_NEVER
                                                        : 0,
                .quantum_ns = turns_quantum_ns(turns),
                .in_flight_ns = latency_is_present(turns) ? IN_FLIGHT_LATENCY_NS : IN_FLIGHT_NS,
                .is_crowded = turns->swap_ns > 0,
        };
}

bool turns_are_needed(const struct turns *turns)
{
        unsigned tenants = 0, parts = 0;

        for (int i = 0; i < turns->high; i++) {
                const struct turns_tenant *tenant = &turns->tenants[i];

                if (tenant->state == TURNS_ABSENT)
                        continue;
                tenants++;
                parts += tenant->limits.weight || tenant->limits.cap_ns_per_s;
        }
        return tenants > 1 && parts > 0 && !turns->is_off;
}

bool turns_is_contended(const struct turns *turns)
{
        for (int i = 0; i < turns->high; i++)
                if (turns->tenants[i].report.wants && (turns->tenants[i].state == TURNS_OUT ||
                                                       turns->tenants[i].state == TURNS_CLOSING))
                        return true;
        return false;
}
