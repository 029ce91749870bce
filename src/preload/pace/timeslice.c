/* SPDX-License-Identifier: Apache-2.0 */
/* timeslice: taking them, and the keeper that ends them. */
#include "timeslice.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include "clock.h"
#include "futex.h"
#include "gate_timeslice.h"
#include "meter.h"
#include "own_thread.h"
#include "region_layout.h"
#include "swap.h"

/* How often to check work that is about to end, and a time slice that others wait for. */
#define POLL_LEAST_NS (30 * NS_PER_US)
#define POLL_MOST_NS  (150 * NS_PER_US)
/* An estimate beyond this says that something is unusual, not that the time slice will be over. */
#define AHEAD_MOST_NS (4 * NS_PER_MS)
/* Work that was never seen before may take as long as the longest that was, but this at most. */
#define GUESS_MOST_NS NS_PER_S
/* Alone and idle this long: nothing on the device, as others will see it. */
#define IDLE_ALONE_NS (50 * NS_PER_MS)

enum keeper_state { KEEPER_NONE, KEEPER_STARTED, KEEPER_FAILED };

_Atomic uint32_t timeslice_number;

static struct keeper {
        _Atomic uint32_t state;  /* enum keeper_state */
        _Atomic uint32_t kick;   /* futex: a time slice began */
        _Atomic uint32_t takers; /* threads that want one */
} keepers[REGION_DEVICES];

static uint64_t poll_ns(uint64_t left_ns)
{
        if (left_ns / 4 < POLL_LEAST_NS)
                return POLL_LEAST_NS;
        return left_ns / 4 < POLL_MOST_NS ? left_ns / 4 : POLL_MOST_NS;
}

/* When what is in flight should be done; 0: there is nothing that could be measured. */
struct end {
        uint64_t done_ns;
        bool is_known;
};

static struct end end_note(unsigned device_index)
{
        const struct backlog backlog = meter_backlog(device_index);
        struct end end = { .is_known = backlog.planned_ns && !backlog.is_guess };

        if (backlog.planned_ns)
                end.done_ns = backlog.due_ns;
        if (backlog.is_guess) {
                const uint64_t longest_ns = gate_timeslice_longest_ns(device_index);

                end.done_ns += longest_ns < GUESS_MOST_NS ? longest_ns : GUESS_MOST_NS;
        }
        gate_timeslice_note(device_index, end.done_ns);
        return end;
}

/* Until the work of all threads is done; where it is known when, others are told at once. Work that is
 * not done in time has no time slices any more: the arbiter gives us up, and there is nothing to end. */
static void timeslice_drain(unsigned device_index, uint32_t count)
{
        uint64_t left_ns;

        atomic_fetch_add(&timeslice_number, 1); /* no thread launches from its credit any more */
        gate_timeslice_drain(device_index, count, end_note(device_index).is_known);
        while ((left_ns = meter_left_ns(device_index)) > 0) {
                if (!gate_timeslice_is_draining(device_index, count) ||
                    gate_timeslice_is_given_up(device_index))
                        return;
                end_note(device_index);
                nanosleep(&(struct timespec){ .tv_nsec = (long)poll_ns(left_ns) }, NULL);
        }
        if (!gate_timeslice_is_draining(device_index, count))
                return;
        gate_timeslice_note(device_index, 0);
        gate_timeslice_end(device_index, count, atomic_load(&keepers[device_index].takers) > 0);
}

/* Checks a time slice that has begun once; how long to sleep until the next check, 0: it has ended. */
static uint64_t keeper_check(unsigned device_index, uint64_t *idle_since_ns)
{
        const uint32_t count = gate_timeslice_count(device_index);
        const uint64_t left_ns = meter_left_ns(device_index), now_ns = clock_now_ns();
        const bool is_wanted = gate_timeslice_is_wanted(device_index);

        const struct end end = end_note(device_index);

        if (left_ns > 0 || *idle_since_ns == 0 || atomic_load(&keepers[device_index].takers) > 0)
                *idle_since_ns = now_ns;
        const uint64_t idle_most_ns =
                is_wanted ? gate_timeslice_idle_ns(device_index) : IDLE_ALONE_NS;
        /* What it owes will keep it idle for too long, after what is in flight. */
        const bool has_to_pause =
                is_wanted && end.is_known && end.done_ns > now_ns &&
                gate_timeslice_owed_ns(device_index) > end.done_ns - now_ns + idle_most_ns;
        if (!gate_timeslice_is_on(device_index, now_ns) || has_to_pause ||
            now_ns - *idle_since_ns >= idle_most_ns) {
                timeslice_drain(device_index, count);
                return 0;
        }
        return is_wanted ? POLL_MOST_NS : IDLE_ALONE_NS / 2;
}

static void *keeper_run(void *argument)
{
        struct keeper *keeper = argument;
        const unsigned device_index = (unsigned)(keeper - keepers);
        uint64_t idle_since_ns = 0;

        meter_relax();
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* others wait for what it notices */
        for (;;) {
                const uint32_t seen = atomic_load(&keeper->kick);

                if (!gate_timeslice_has_begun(device_index)) {
                        idle_since_ns = 0;
                        futex_wait(&keeper->kick, seen, 3600 * NS_PER_S);
                        continue;
                }
                const uint64_t sleep_ns = keeper_check(device_index, &idle_since_ns);
                if (sleep_ns)
                        gate_timeslice_wait_grant(device_index, sleep_ns);
        }
        return NULL;
}

static bool keeper_is_there(unsigned device_index)
{
        struct keeper *keeper = &keepers[device_index];
        uint32_t state = KEEPER_NONE;

        if (atomic_compare_exchange_strong(&keeper->state, &state, KEEPER_STARTED)) {
                state = own_thread_start(keeper_run, keeper,
                                         "keep time slices with other containers")
                                ? KEEPER_STARTED
                                : KEEPER_FAILED;
                atomic_store(&keeper->state, state);
        }
        return state == KEEPER_STARTED;
}

void timeslice_take(unsigned device_index, CUstream stream, uint64_t in_flight_ns)
{
        struct keeper *keeper = &keepers[device_index];
        int saved_errno = errno;

        if (!gate_timeslice_applies(device_index) || !keeper_is_there(device_index))
                return;
        const uint32_t count = gate_timeslice_count(device_index);
        const uint64_t ahead_ns = in_flight_ns < AHEAD_MOST_NS ? in_flight_ns : AHEAD_MOST_NS;
        if (gate_timeslice_is_on(device_index, clock_now_ns() + ahead_ns)) {
                end_note(device_index);
                return;
        }
        atomic_fetch_add(&keeper->takers, 1);
        if (gate_timeslice_has_begun(device_index))
                timeslice_drain(device_index, count);
        if (gate_timeslice_begin(device_index))
                swap_in(stream);
        atomic_fetch_sub(&keeper->takers, 1);
        futex_ring(&keeper->kick);
        errno = saved_errno;
}

void timeslice_forked(void)
{
        for (unsigned i = 0; i < REGION_DEVICES; i++)
                keepers[i] = (struct keeper){ 0 };
        gate_timeslice_forked();
}
