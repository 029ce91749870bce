/* SPDX-License-Identifier: Apache-2.0 */
/* settler: one thread for all devices. */
#include "settler.h"

#include <errno.h>
#include <stdatomic.h>

#include "clock.h"
#include "futex.h"
#include "meter.h"
#include "own_thread.h"
#include "region_pending.h"
#include "timeslice.h"

/* Once all is settled it stays awake a while: a program that launches and waits by turns would have to
 * wake it each time. */
#define AWAKE_NS (50 * NS_PER_MS)
#define NAP_NS   (5 * NS_PER_MS)
/* Where the program looks itself, it settles what is done, and there is little left to see. */
#define HARVESTED_NAP_NS (10 * NS_PER_MS)

enum settler_state { SETTLER_NONE, SETTLER_STARTED, SETTLER_FAILED };

static struct {
        _Atomic uint32_t state; /* enum settler_state */
        _Atomic uint32_t is_asleep;
        _Atomic uint32_t kick; /* futex */
} settler;

static uint64_t nap_ns(const struct outstanding *outstanding)
{
        if (outstanding->age_ns)
                return region_pending_interval_ns(outstanding->age_ns);
        return outstanding->is_harvested ? HARVESTED_NAP_NS : NAP_NS;
}

static bool is_settled(const struct outstanding *outstanding)
{
        return !outstanding->age_ns && !outstanding->is_harvested;
}

/* Until something is submitted: no thread launches from its credit unseen. */
static void sleep_on(uint32_t seen)
{
        atomic_fetch_add(&timeslice_number, 1);
        atomic_store(&settler.is_asleep, 1);
        const struct outstanding outstanding = meter_harvest_remainder();
        if (is_settled(&outstanding))
                futex_wait(&settler.kick, seen, 3600 * NS_PER_S);
        atomic_store(&settler.is_asleep, 0);
}

static void *settler_run(void *unused)
{
        uint64_t settled_ns = clock_now_ns();

        (void)unused;
        meter_relax();
        for (;;) {
                const uint32_t seen = atomic_load(&settler.kick);
                const struct outstanding outstanding = meter_harvest_remainder();
                const uint64_t now_ns = clock_now_ns();

                if (!is_settled(&outstanding))
                        settled_ns = now_ns;
                if (now_ns - settled_ns >= AWAKE_NS)
                        sleep_on(seen);
                else
                        futex_wait(&settler.kick, seen, nap_ns(&outstanding));
        }
        return NULL;
}

void settler_watch(void)
{
        uint32_t state = atomic_load_explicit(&settler.state, memory_order_relaxed);
        const int saved_errno = errno;

        if (state == SETTLER_NONE &&
            atomic_compare_exchange_strong(&settler.state, &state, SETTLER_STARTED) &&
            !own_thread_start(settler_run, NULL, "settle work that the program does not wait for"))
                atomic_store(&settler.state, SETTLER_FAILED);
        if (atomic_load(&settler.is_asleep))
                futex_ring(&settler.kick);
        errno = saved_errno;
}

void settler_forked(void)
{
        atomic_store(&settler.state, SETTLER_NONE);
        atomic_store(&settler.is_asleep, 0);
}
