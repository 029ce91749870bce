/* SPDX-License-Identifier: Apache-2.0 */
/* The token as a finite machine; see token.h. */
#include "token.h"

#include <stdio.h>
#include <string.h>

#include "gpu_page.h"

enum life { RUNS, STOPPED, DEAD };

/* Where a tenant's process is. What it does between two of these concerns nobody else. */
enum step {
        IDLE,  /* nothing to do */
        RING,  /* gpu_timeslice_begin(): has marked that it wants; rings */
        WAIT,  /* looks at the word */
        MARK,  /* saw a yes; marks itself active */
        CHECK, /* … and looks again */
        SWAP,  /* has the time slice, and brings its memory onto the GPU */
        RUN,   /* has the time slice */
        ALONE, /* goes on without an arbiter */
        DRAIN, /* gpu_timeslice_drain(): has marked that it submits no more; rings if others wait */
        DRAINED, /* … and its work goes on */
        STAYED,  /* gpu_timeslice_end(): has marked that it wants more; rings if others wait */
        LEFT,    /* … or that it does not */
};

enum arbiter { READ_BELL, READ_SLOT, DECIDE, TELL_CLOSED, TELL_OPEN, SLEEP, DOWN };
enum view { OUT, HOLDER, CLOSING, FREE, RETURNING, AWAITED, DRAINING };

struct fan { /* the successors so far */
        struct token *next;
        unsigned count, tenants;
};

static struct token *fan_add(struct fan *fan, const struct token *from)
{
        fan->next[fan->count] = *from;
        return &fan->next[fan->count++];
}

void token_init(struct token *token, unsigned tenants, bool moves)
{
        memset(token, 0, sizeof *token);
        token->moves = moves;
        token->arbiter = DOWN;
        for (unsigned i = 0; i < tenants; i++)
                token->tenants[i].word = GPU_FREE;
}

/* --- a tenant ------------------------------------------------------------------------------------ */

static struct token_tenant *tenant_moves(struct fan *fan, const struct token *from, unsigned i,
                                         enum step step)
{
        struct token_tenant *tenant = &fan_add(fan, from)->tenants[i];

        tenant->step = (uint8_t)step;
        if (step != CHECK && step != SWAP && step != RUN && step != ALONE) {
                tenant->is_as_saved = 0; /* forgotten: one state, not several */
                if (!from->moves || (step != DRAIN && step != DRAINED))
                        tenant->saved = 0;
        }
        return tenant;
}

static struct token_tenant *tenant_saves(struct fan *fan, const struct token *from, unsigned i,
                                         enum step step)
{
        struct token_tenant *tenant = tenant_moves(fan, from, i, step);

        tenant->saved = tenant->word;
        tenant->is_as_saved = 1;
        return tenant;
}

static void tenant_sets(struct fan *fan, const struct token *from, unsigned i, enum step step,
                        uint8_t slot)
{
        struct token_tenant *tenant = tenant_moves(fan, from, i, step);

        tenant->slot = slot;
        tenant->is_given_up = 0;
}

static void tenant_reads(struct fan *fan, const struct token *from, unsigned i)
{
        const struct token_tenant *tenant = &from->tenants[i];

        if (tenant->word != GPU_CLOSED)
                tenant_saves(fan, from, i, MARK);
        else if (tenant->step == IDLE)
                tenant_sets(fan, from, i, RING, GPU_WANTS);
        if (tenant->step == WAIT && from->arbiter == DOWN)
                tenant_saves(fan, from, i, ALONE)->slot = GPU_ACTIVE;
}

static void tenant_ends(struct fan *fan, const struct token *from, unsigned i, enum step step)
{
        struct token_tenant *tenant = tenant_moves(fan, from, i, step);

        if (tenant->has_deadline || tenant->word != GPU_OPEN)
                tenant->is_rung = 1;
}

static void tenant_steps(struct fan *fan, const struct token *from, unsigned i)
{
        const struct token_tenant *tenant = &from->tenants[i];

        switch (tenant->step) {
        case IDLE:
        case WAIT:
                tenant_reads(fan, from, i);
                return;
        case RING:
                tenant_moves(fan, from, i, WAIT)->is_rung = 1;
                return;
        case MARK:
                tenant_moves(fan, from, i, CHECK)->slot = GPU_ACTIVE;
                return;
        case CHECK:
                if (tenant->is_as_saved)
                        tenant_moves(fan, from, i,
                                     from->moves && tenant->saved == GPU_OPEN ? SWAP : RUN);
                else
                        tenant_sets(fan, from, i, RING, GPU_WANTS);
                return;
        case SWAP:
                tenant_moves(fan, from, i, RUN);
                return;
        case RUN:
                tenant_moves(fan, from, i, DRAIN)->slot = GPU_DRAINS;
                /* fall through */
        case ALONE:
        case DRAINED:
                tenant_sets(fan, from, i, STAYED, GPU_WANTS);
                tenant_sets(fan, from, i, LEFT, GPU_IDLE);
                return;
        case DRAIN:
                tenant_ends(fan, from, i, DRAINED);
                return;
        case STAYED:
                tenant_ends(fan, from, i, WAIT);
                return;
        case LEFT:
                tenant_ends(fan, from, i, IDLE);
                return;
        }
}

static void tenant_fails(struct fan *fan, const struct token *from, unsigned i)
{
        const struct token_tenant *tenant = &from->tenants[i];

        if (tenant->life == DEAD) { /* another process of the container buries it */
                tenant_sets(fan, from, i, IDLE, GPU_IDLE);
                fan->next[fan->count - 1].tenants[i].life = RUNS;
                return;
        }
        tenant_moves(fan, from, i, IDLE)->life = DEAD;
        fan_add(fan, from)->tenants[i].life = tenant->life == RUNS ? STOPPED : RUNS;
}

/* --- the arbiter --------------------------------------------------------------------------------- */

static bool is_inactive(const struct token_tenant *tenant)
{
        return tenant->report != GPU_ACTIVE && tenant->report != GPU_DRAINS;
}

static bool others_want(const struct token *token, unsigned tenants, unsigned except)
{
        for (unsigned i = 0; i < tenants; i++)
                if (i != except && token->tenants[i].view == OUT &&
                    token->tenants[i].report != GPU_IDLE)
                        return true;
        return false;
}

static void view_set(struct token_tenant *tenant, enum view view)
{
        tenant->view = (uint8_t)view;
        tenant->is_untold = 1;
}

/* What is decided for those who are not the holder; `is_late`: the clock says that it took too long. */
static void decide_free(struct token_tenant *tenant, bool is_late)
{
        if (tenant->view == FREE && (is_inactive(tenant) || is_late)) {
                view_set(tenant, RETURNING);
        } else if (tenant->view == RETURNING || tenant->view == AWAITED) {
                if (is_inactive(tenant)) {
                        tenant->view = OUT;
                } else if (is_late) {
                        view_set(tenant, FREE);
                        tenant->is_given_up = 1;
                }
        }
}

static void decide_holder(struct token *token, unsigned tenants, unsigned i, bool is_late)
{
        struct token_tenant *tenant = &token->tenants[i];

        if (tenant->view == CLOSING || tenant->view == DRAINING) {
                if (is_inactive(tenant)) {
                        tenant->view = OUT;
                } else if (is_late) {
                        view_set(tenant, FREE);
                        tenant->is_given_up = 1;
                }
        } else if (tenant->view == HOLDER) {
                const bool is_over = is_inactive(tenant) && is_late &&
                                     (others_want(token, tenants, i) || tenant->report != GPU_IDLE);

                if (is_over || tenant->report == GPU_DRAINS ||
                    (others_want(token, tenants, i) && is_late))
                        view_set(tenant, CLOSING);
        }
}

static bool somebody_drains(const struct token *token, unsigned tenants)
{
        for (unsigned i = 0; i < tenants; i++)
                if (token->tenants[i].view == DRAINING)
                        return true;
        return false;
}

/* The early grant: it was closed before it was read, and says that it submits no more. Not where memory changes hands:
 * its work needs its own until it is done. */
static void decide_early(struct token *token, const struct token *before, unsigned tenants)
{
        for (unsigned i = 0; i < tenants && !token->moves; i++)
                if (token->tenants[i].view == CLOSING && before->tenants[i].view == CLOSING &&
                    token->tenants[i].report == GPU_DRAINS && !somebody_drains(token, tenants))
                        token->tenants[i].view = DRAINING;
}

static bool token_is_free(const struct token *token, unsigned tenants)
{
        for (unsigned i = 0; i < tenants; i++)
                if (token->tenants[i].view == HOLDER || token->tenants[i].view == CLOSING ||
                    token->tenants[i].view == AWAITED)
                        return false;
        return true;
}

/* The clock's part in it is a set of bits: for whom it is late. The next holder is anybody who wants:
 * virtual time would choose one of them. One more bit: whether the end of work is known and near. */
static void arbiter_decides(struct fan *fan, const struct token *from)
{
        for (unsigned late = 0; late < 2u << fan->tenants; late++) {
                struct token decided = *from;

                decided.arbiter = TELL_CLOSED;
                decided.at = 0;
                for (unsigned i = 0; i < fan->tenants; i++) {
                        decide_free(&decided.tenants[i], late >> i & 1);
                        decide_holder(&decided, fan->tenants, i, late >> i & 1);
                }
                if (late >> fan->tenants)
                        decide_early(&decided, from, fan->tenants);
                bool is_given = false;
                for (unsigned i = 0; i < fan->tenants && token_is_free(&decided, fan->tenants); i++)
                        if (decided.tenants[i].view == OUT &&
                            decided.tenants[i].report != GPU_IDLE) {
                                view_set(&fan_add(fan, &decided)->tenants[i], HOLDER);
                                is_given = true;
                        }
                if (!is_given)
                        fan_add(fan, &decided);
        }
}

static uint8_t state_for(uint8_t view)
{
        return view == HOLDER ? GPU_OPEN : view == FREE ? GPU_FREE : GPU_CLOSED;
}

static void arbiter_tells(struct fan *fan, const struct token *from)
{
        struct token *next = fan_add(fan, from);
        struct token_tenant *tenant = &next->tenants[from->at];
        const bool is_holder = tenant->view == HOLDER;

        if (is_holder == (from->arbiter == TELL_OPEN)) {
                const uint8_t has_deadline = is_holder && others_want(from, fan->tenants, from->at);

                next->has_changed |= tenant->is_untold || has_deadline != tenant->has_deadline;
                tenant->has_deadline = has_deadline;
                if (tenant->is_untold) {
                        tenant->word = state_for(tenant->view);
                        tenant->is_as_saved = 0;
                }
                tenant->is_untold = 0;
        }
        if (++next->at < fan->tenants)
                return;
        next->at = 0;
        next->arbiter = from->arbiter == TELL_CLOSED ? TELL_OPEN
                        : next->has_changed          ? READ_BELL
                                                     : SLEEP;
        if (next->arbiter == READ_BELL)
                next->has_changed = 0;
}

/* By a doorbell, or a clock where it waits for something. */
static void arbiter_wakes(struct fan *fan, const struct token *from)
{
        bool is_woken = false;

        for (unsigned i = 0; i < fan->tenants; i++) {
                const struct token_tenant *tenant = &from->tenants[i];
                const bool is_timed = tenant->view == CLOSING || tenant->view == DRAINING ||
                                      tenant->view == FREE || tenant->view == RETURNING ||
                                      tenant->view == AWAITED ||
                                      (tenant->view == OUT && tenant->report != GPU_IDLE);

                is_woken |= tenant->is_rung || is_timed;
        }
        if (is_woken)
                fan_add(fan, from)->arbiter = READ_BELL;
}

static void arbiter_steps(struct fan *fan, const struct token *from)
{
        struct token *next;

        switch (from->arbiter) {
        case READ_BELL:
                next = fan_add(fan, from);
                next->tenants[from->at].is_rung = 0;
                next->arbiter = READ_SLOT;
                return;
        case READ_SLOT:
                next = fan_add(fan, from);
                next->tenants[from->at].report = next->tenants[from->at].slot;
                next->at = (uint8_t)((from->at + 1u) % fan->tenants);
                next->arbiter = next->at == 0 ? DECIDE : READ_BELL;
                return;
        case DECIDE:
                arbiter_decides(fan, from);
                return;
        case TELL_CLOSED:
        case TELL_OPEN:
                arbiter_tells(fan, from);
                return;
        case SLEEP:
                arbiter_wakes(fan, from);
                return;
        default: /* another takes the lock: it knows nothing, and waits for all to drain */
                next = fan_add(fan, from);
                next->arbiter = TELL_CLOSED;
                next->at = 0;
                next->has_changed = 0;
                for (unsigned i = 0; i < fan->tenants; i++) {
                        view_set(&next->tenants[i], AWAITED);
                        next->tenants[i].report = GPU_IDLE;
                }
        }
}

/* A stopped arbiter is killed by those who miss it: to the others it is down either way. */
unsigned token_next(const struct token *token, unsigned tenants, int failing,
                    struct token ret_next[TOKEN_SUCCESSORS])
{
        struct fan fan = { .next = ret_next, .tenants = tenants };
        const bool may_fail = failing != TOKEN_NOBODY_FAILS;

        for (unsigned i = 0; i < tenants; i++) {
                if (token->tenants[i].life == RUNS)
                        tenant_steps(&fan, token, i);
                if (may_fail && (int)i < failing)
                        tenant_fails(&fan, token, i);
        }
        if (token->arbiter != DOWN || may_fail)
                arbiter_steps(&fan, token);
        if (token->arbiter != DOWN && may_fail) {
                struct token *down = fan_add(&fan, token);

                down->arbiter = DOWN;
                down->at = 0;
        }
        return fan.count;
}

static bool has_token(const struct token_tenant *tenant)
{
        return (tenant->step == SWAP || tenant->step == RUN) && tenant->saved == GPU_OPEN &&
               tenant->life != DEAD && !tenant->is_given_up;
}

/* Submits no more, and was not given up. */
static bool has_work_left(const struct token_tenant *tenant)
{
        return (tenant->step == DRAIN || tenant->step == DRAINED) && tenant->life != DEAD &&
               !tenant->is_given_up;
}

bool token_is_double(const struct token *token, unsigned tenants)
{
        unsigned holders = 0, drain = 0, others = 0;

        for (unsigned i = 0; i < tenants; i++) {
                holders += has_token(&token->tenants[i]);
                drain += has_work_left(&token->tenants[i]);
                /* Not of the token: one that was given up and has come again. */
                others += has_work_left(&token->tenants[i]) && token->tenants[i].saved == GPU_OPEN;
        }
        return holders > 1 || holders + drain > 2 || (token->moves && holders && others);
}

bool token_waits(const struct token *token, unsigned tenant)
{
        return token->tenants[tenant].life == RUNS && token->tenants[tenant].step == WAIT;
}

bool token_runs(const struct token *token, unsigned tenant)
{
        return token->tenants[tenant].step == RUN || token->tenants[tenant].step == ALONE;
}

void token_print(const struct token *token, unsigned tenants)
{
        static const char *const lives[] = { "runs", "stopped", "dead" };
        static const char *const views[] = { "out",       "holder",  "closing", "free",
                                             "returning", "awaited", "draining" };

        printf("# arbiter step %u at %u\n", token->arbiter, token->at);
        for (unsigned i = 0; i < tenants; i++) {
                const struct token_tenant *t = &token->tenants[i];

                printf("#   tenant %u %s step %u slot %u word %u saved %u%s view %s%s "
                       "report %u%s%s\n",
                       i, lives[t->life], t->step, t->slot, t->word, t->saved,
                       t->is_as_saved ? " (same)" : "", views[t->view],
                       t->is_untold ? " untold" : "", t->report, t->is_rung ? " rung" : "",
                       t->is_given_up ? " given up" : "");
        }
}
