/* The gate of turns; see gate_turn.h. One gpu_turn per account, begun and ended under its lock. */
#include "gate_turn.h"

#include <errno.h>

#include "clock.h"
#include "futex.h"
#include "gpu_turn.h"
#include "ledger.h"
#include "limits.h"
#include "lock.h"
#include "log.h"

enum turn_use { TURN_UNKNOWN, TURN_ABSENT, TURN_KEPT };

static struct account_turn {
        struct lock lock;
        _Atomic uint32_t use; /* enum turn_use */
        _Atomic bool has_begun;
        struct gpu_turn turn;
} turns[REGION_DEVICES];

static enum turn_use turn_open(unsigned account)
{
        char grant[SHARE_TEXT], want[SHARE_TEXT];
        struct err e = { 0 };

        if (!limits_share_path())
                return TURN_ABSENT;
        gpu_page_grant_path(limits_share_path(), grant);
        gpu_page_want_path(limits_region_path(), want);
        int r = gpu_turn_open(grant, want, account, &turns[account].turn, &e);
        if (r == 0)
                return TURN_KEPT;
        if (r != -ENOENT)
                log_warn("no turns with other containers: %s", e.text);
        return TURN_ABSENT;
}

bool gate_turn_is_kept(unsigned account)
{
        struct account_turn *t = &turns[account];
        uint32_t use = atomic_load_explicit(&t->use, memory_order_acquire);

        if (use != TURN_UNKNOWN)
                return use == TURN_KEPT;
        int saved_errno = errno;
        lock_take(&t->lock);
        if (atomic_load(&t->use) == TURN_UNKNOWN)
                atomic_store(&t->use, turn_open(account));
        lock_give(&t->lock);
        errno = saved_errno;
        return atomic_load(&t->use) == TURN_KEPT;
}

bool gate_turn_is_on(unsigned account, uint64_t done_ns)
{
        struct account_turn *t = &turns[account];

        return atomic_load(&t->has_begun) && gpu_turn_is_on(&t->turn, done_ns);
}

bool gate_turn_has_begun(unsigned account)
{
        return atomic_load(&turns[account].has_begun);
}

bool gate_turn_is_given_up(unsigned account)
{
        struct account_turn *t = &turns[account];
        const uint32_t word = atomic_load(&t->turn.grant->turn);

        if (word == t->turn.number || (word & GPU_STATE_MASK) != GPU_FREE)
                return false;
        atomic_store(&t->has_begun, false); /* the lane stays active: it is */
        return true;
}

uint64_t gate_turn_idle_ns(unsigned account)
{
        const uint64_t swap_ns = atomic_load(&turns[account].turn.grant->swap_ns);

        return swap_ns > GPU_TURN_IDLE_NS ? swap_ns : GPU_TURN_IDLE_NS;
}

bool gate_turn_is_wanted(unsigned account)
{
        return gpu_turn_deadline_ns(&turns[account].turn) != GPU_NO_DEADLINE;
}

bool gate_turn_begin(unsigned account)
{
        struct account_turn *t = &turns[account];
        bool is_cold = false;

        gpu_turn_note_memory(&t->turn, ledger_used_bytes(account));
        lock_take(&t->lock);
        if (!atomic_load(&t->has_begun)) {
                is_cold = gpu_turn_begin(&t->turn) &&
                          atomic_load(&t->turn.grant->flags) & GPU_GRANT_CROWDED;
                atomic_store(&t->has_begun, true);
        }
        lock_give(&t->lock);
        return is_cold;
}

void gate_turn_end(unsigned account, bool wants_more)
{
        struct account_turn *t = &turns[account];
        int saved_errno = errno;

        lock_take(&t->lock);
        if (atomic_load(&t->has_begun)) {
                atomic_store(&t->has_begun, false);
                gpu_turn_end(&t->turn, wants_more);
        }
        lock_give(&t->lock);
        errno = saved_errno;
}

void gate_turn_wait_word(unsigned account, uint64_t most_ns)
{
        const struct gpu_turn *turn = &turns[account].turn;
        int saved_errno = errno;

        futex_wait(&turn->grant->turn, turn->number, most_ns);
        errno = saved_errno;
}

uint64_t gate_turn_in_flight_ns(unsigned account, uint64_t default_ns)
{
        if (!gate_turn_is_kept(account))
                return default_ns;
        uint64_t bound_ns = gpu_turn_in_flight_ns(&turns[account].turn, default_ns);
        return bound_ns < default_ns ? bound_ns : default_ns;
}

void gate_turn_note(unsigned account, uint64_t in_flight_ns)
{
        const struct region *region = ledger_region();
        uint64_t busy_ns = atomic_load_explicit(&region->file->slots[region->slot].gpu_ns[account],
                                                memory_order_relaxed);

        gpu_turn_note(&turns[account].turn, busy_ns, in_flight_ns);
        gpu_turn_note_memory(&turns[account].turn, ledger_used_bytes(account));
}

void gate_turn_forked(void)
{
        for (unsigned i = 0; i < REGION_DEVICES; i++) {
                turns[i].lock = (struct lock){ 0 };
                atomic_store(&turns[i].has_begun, false);
        }
}
