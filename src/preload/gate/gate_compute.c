/* SPDX-License-Identifier: Apache-2.0 */
/* The compute gate: the debt of the container. */
#include "gate_compute.h"

#include <errno.h>
#include <sys/prctl.h>

#include "clock.h"
#include "futex.h"
#include "ledger.h"
#include "limits_compute.h"
#include "log.h"
#include "region_compute.h"
#include "region_cost.h"
#include "region_pending.h"

/* A limit that changes in the share, which wakes nobody, is seen within this time. */
#define POLL_NS (25 * NS_PER_MS)
/* A sleeper wakes this much late: so work may start this much early, always, which shifts all of it
 * and adds nothing. */
#define EARLY_NS (20 * NS_PER_US)
/* Nearly the whole device: what a late wake-up leaves idle can hardly be made up for. Work is submitted so
 * much ahead that the device does not run dry meanwhile. */
enum { NEARLY_WHOLE = COMPUTE_WHOLE * 9 / 10 };
#define EARLY_NEARLY_WHOLE_NS (4 * NS_PER_MS)
/* Work that is submitted and not done. Who may have nearly the whole device has nothing to lose by more, and
 * keeps it busy over a stall of its own. */
#define IN_FLIGHT_NS       (4 * NS_PER_MS)
#define IN_FLIGHT_WHOLE_NS (16 * NS_PER_MS)
/* What a process that died left to the GPU is charged by those who wait, at most this often. */
#define REAP_NS (100 * NS_PER_MS)
/* A correction that frees less is not worth waking others for. */
#define WAKE_NS (100 * NS_PER_US)

static struct region_compute *compute_of(unsigned device_index)
{
        return &ledger_region()->file->computes[device_index];
}

bool gate_compute_is_limited(unsigned device_index)
{
        return limits_compute_is_on() && limits_compute_permille(device_index) && ledger_is_open();
}

static uint64_t early_ns(unsigned permille)
{
        return permille < NEARLY_WHOLE ? EARLY_NS : EARLY_NEARLY_WHOLE_NS;
}

uint64_t gate_compute_ask(unsigned device_index, uint64_t work_ns)
{
        unsigned permille = limits_compute_permille(device_index);
        struct region_compute *compute = compute_of(device_index);

        if (!permille || permille >= COMPUTE_WHOLE)
                return 0;
        const unsigned share_permille = limits_compute_share_permille(device_index);
        if (share_permille)
                region_compute_forgive(compute, share_permille, clock_now_ns());
        return region_compute_take(compute, region_compute_rate(compute, permille),
                                   clock_now_ns() + early_ns(permille), work_ns);
}

void gate_compute_correct(unsigned device_index, int64_t work_ns)
{
        unsigned permille = limits_compute_permille(device_index);
        struct region_compute *compute = compute_of(device_index);

        if (!permille || permille >= COMPUTE_WHOLE || work_ns == 0)
                return;
        bool is_early = region_compute_correct(compute, region_compute_rate(compute, permille),
                                               clock_now_ns(), work_ns);
        if (is_early && -work_ns >= (int64_t)WAKE_NS) {
                int saved_errno = errno;
                futex_ring(&compute->wake);
                errno = saved_errno;
        }
}

uint64_t gate_compute_in_flight_ns(unsigned device_index)
{
        return limits_compute_permille(device_index) < NEARLY_WHOLE ? IN_FLIGHT_NS
                                                                    : IN_FLIGHT_WHOLE_NS;
}

uint64_t gate_compute_used(unsigned device_index, uint64_t begin_ns, uint64_t end_ns)
{
        struct region *region = ledger_region();
        struct region_compute *compute = compute_of(device_index);
        uint64_t used = region_compute_cover(compute, begin_ns, end_ns);

        atomic_fetch_add_explicit(&compute->gpu_ns, used, memory_order_relaxed);
        atomic_fetch_add_explicit(&region->file->slots[region->slot].gpu_ns[device_index], used,
                                  memory_order_relaxed);
        return used;
}

void gate_compute_pending(unsigned device_index, uint64_t since_ns, uint64_t charged_ns)
{
        const struct region *region = ledger_region();

        if (ledger_is_open())
                region_pending_note(&region->file->slots[region->slot], device_index, since_ns,
                                    charged_ns, clock_now_ns());
}

uint64_t gate_compute_cost(uint64_t key)
{
        return ledger_is_open() ? region_cost_get(ledger_region()->file, key) : 0;
}

void gate_compute_learned(uint64_t key, uint64_t ns)
{
        if (key && ledger_is_open())
                region_cost_put(ledger_region()->file, key, ns);
}

void gate_compute_saw(unsigned device_index, uint64_t work_ns)
{
        region_compute_saw(compute_of(device_index), work_ns);
}

/* Told once a second of waiting, of all processes together. A thread that was stopped meanwhile did not wait for
 * the limit. */
static void throttle_note(struct region_compute *compute, unsigned device_index, uint64_t begin_ns)
{
        const uint64_t end_ns = clock_now_ns(), most_ns = begin_ns + 2 * POLL_NS;
        const uint64_t waited_ns =
                region_compute_throttle(compute, begin_ns, end_ns < most_ns ? end_ns : most_ns);
        const uint64_t before_ns =
                atomic_fetch_add_explicit(&compute->throttled_ns, waited_ns, memory_order_relaxed);
        const uint64_t now_ns = before_ns + waited_ns;

        if (before_ns == 0 || before_ns / NS_PER_S != now_ns / NS_PER_S)
                log_debug("device %u: launches have waited %llu ms for the limit of %u per mille",
                          device_index, (unsigned long long)(now_ns / NS_PER_MS),
                          limits_compute_permille(device_index));
}

void gate_compute_wait(unsigned device_index, uint64_t wait_ns, bool is_owed)
{
        struct region_compute *compute = compute_of(device_index);
        uint32_t seen = atomic_load(&compute->wake);
        uint64_t begin_ns = clock_now_ns();
        int saved_errno = errno;

        ledger_reap_every(REAP_NS);
        int slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* the thread's own is for its own sleeps */
        futex_wait(&compute->wake, seen, wait_ns < POLL_NS ? wait_ns : POLL_NS);
        if (slack_ns > 0)
                prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
        errno = saved_errno;
        if (is_owed)
                throttle_note(compute, device_index, begin_ns);
}

double gate_compute_load_percent(unsigned device_index)
{
        enum { WINDOW_MS = 1000 };
        uint64_t used = region_compute_used_ns(compute_of(device_index), clock_now_ns(), WINDOW_MS);

        return 100 * (double)used / (double)(WINDOW_MS * NS_PER_MS);
}
