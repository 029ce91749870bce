/* turn: taking them, and the keeper that ends them. */
#include "turn.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "clock.h"
#include "futex.h"
#include "gate_turn.h"
#include "log.h"
#include "meter.h"
#include "real.h"
#include "region_layout.h"
#include "swap.h"

/* How often to look at work that is about to end, and at a turn that others wait for. */
#define LOOK_LEAST_NS (30 * NS_PER_US)
#define LOOK_MOST_NS  (150 * NS_PER_US)
/* An estimate beyond this says that something is unusual, not that the turn will be over. */
#define AHEAD_MOST_NS (4 * NS_PER_MS)
/* Alone and idle this long: nothing on the device, as others will see it. */
#define IDLE_ALONE_NS (50 * NS_PER_MS)

enum keeper_state { KEEPER_NONE, KEEPER_STARTED, KEEPER_FAILED };

_Atomic uint32_t turn_number;

static struct keeper {
        _Atomic uint32_t state;  /* enum keeper_state */
        _Atomic uint32_t kick;   /* futex: a turn began */
        _Atomic uint32_t takers; /* threads that want one */
} keepers[REGION_DEVICES];

static uint64_t look_ns(uint64_t left_ns)
{
        if (left_ns / 4 < LOOK_LEAST_NS)
                return LOOK_LEAST_NS;
        return left_ns / 4 < LOOK_MOST_NS ? left_ns / 4 : LOOK_MOST_NS;
}

/* Until the work of all threads is done. Work that is not done in time has no turns any more: the
 * arbiter gives us up, and there is nothing to end. */
static void turn_drain(unsigned account)
{
        uint64_t left_ns;

        atomic_fetch_add(&turn_number, 1); /* no thread launches from its room any more */
        while ((left_ns = meter_left_ns(account)) > 0) {
                if (!gate_turn_has_begun(account) || gate_turn_is_given_up(account))
                        return;
                nanosleep(&(struct timespec){ .tv_nsec = (long)look_ns(left_ns) }, NULL);
        }
        gate_turn_note(account, 0);
        gate_turn_end(account, atomic_load(&keepers[account].takers) > 0);
}

/* One look at a turn that has begun; how long to sleep until the next, 0: it has ended. */
static uint64_t keeper_look(unsigned account, uint64_t *idle_since_ns)
{
        const uint64_t left_ns = meter_left_ns(account), now_ns = clock_now_ns();
        const bool is_wanted = gate_turn_is_wanted(account);

        gate_turn_note(account, left_ns);
        if (left_ns > 0 || *idle_since_ns == 0 || atomic_load(&keepers[account].takers) > 0)
                *idle_since_ns = now_ns;
        const uint64_t idle_most_ns = is_wanted ? gate_turn_idle_ns(account) : IDLE_ALONE_NS;
        if (!gate_turn_is_on(account, now_ns) || now_ns - *idle_since_ns >= idle_most_ns) {
                turn_drain(account);
                return 0;
        }
        return is_wanted ? LOOK_MOST_NS : IDLE_ALONE_NS / 2;
}

static void *keeper_run(void *argument)
{
        struct keeper *keeper = argument;
        const unsigned account = (unsigned)(keeper - keepers);
        uint64_t idle_since_ns = 0;

        meter_relax();
        for (;;) {
                const uint32_t seen = atomic_load(&keeper->kick);

                if (!gate_turn_has_begun(account)) {
                        idle_since_ns = 0;
                        futex_wait(&keeper->kick, seen, 3600 * NS_PER_S);
                        continue;
                }
                const uint64_t sleep_ns = keeper_look(account, &idle_since_ns);
                if (sleep_ns)
                        gate_turn_wait_word(account, sleep_ns);
        }
        return NULL;
}

typedef int pthread_create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* Looked up, because it moved from one library to another between the releases of glibc that we run
 * with. The program's signals are its own threads'. */
static bool thread_start(struct keeper *keeper)
{
        pthread_create_fn *create =
                (pthread_create_fn *)real_dlsym()(RTLD_DEFAULT, "pthread_create");
        sigset_t all, before;
        pthread_attr_t detached;
        pthread_t thread;

        if (!create || pthread_attr_init(&detached) != 0)
                return false;
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &before);
        const int r = create(&thread, &detached, keeper_run, keeper);
        sigprocmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&detached);
        if (r != 0)
                log_warn("no thread to keep turns with other containers: error %d", r);
        return r == 0;
}

static bool keeper_is_there(unsigned account)
{
        struct keeper *keeper = &keepers[account];
        uint32_t state = KEEPER_NONE;

        if (atomic_compare_exchange_strong(&keeper->state, &state, KEEPER_STARTED)) {
                state = thread_start(keeper) ? KEEPER_STARTED : KEEPER_FAILED;
                atomic_store(&keeper->state, state);
        }
        return state == KEEPER_STARTED;
}

void turn_take(unsigned account, CUstream stream, uint64_t in_flight_ns)
{
        struct keeper *keeper = &keepers[account];
        int saved_errno = errno;

        if (!gate_turn_is_kept(account) || !keeper_is_there(account))
                return;
        const uint64_t ahead_ns = in_flight_ns < AHEAD_MOST_NS ? in_flight_ns : AHEAD_MOST_NS;
        if (gate_turn_is_on(account, clock_now_ns() + ahead_ns)) {
                gate_turn_note(account, in_flight_ns);
                return;
        }
        atomic_fetch_add(&keeper->takers, 1);
        if (gate_turn_has_begun(account))
                turn_drain(account);
        if (gate_turn_begin(account))
                swap_in(stream);
        atomic_fetch_sub(&keeper->takers, 1);
        futex_ring(&keeper->kick);
        errno = saved_errno;
}

void turn_forked(void)
{
        for (unsigned i = 0; i < REGION_DEVICES; i++)
                keepers[i] = (struct keeper){ 0 };
        gate_turn_forked();
}
