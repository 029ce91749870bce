/* SPDX-License-Identifier: Apache-2.0 */
/* GPU time of a container: the debt word and the record of use. */
#include "region_compute.h"

#include "clock.h"

enum { TICK_NS = 64, RATE_BITS = 10 };
#define RATE_MASK ((UINT64_C(1) << RATE_BITS) - 1)
/* A cell of the record: a bit for each 10 µs, and the cell's number above them. */
#define CELL_SLOTS   24
#define CELL_MASK    ((UINT64_C(1) << CELL_SLOTS) - 1)
#define SLOT_NS      (10 * NS_PER_US)
#define WAIT_SLOT_NS (100 * NS_PER_US)
/* A wait is said when it ends, or after this time. */
#define WAIT_LATE_NS   (30 * NS_PER_MS)
#define DEPTH_WALL_NS  (40 * NS_PER_MS)
#define DEPTH_LEAST_NS (8 * NS_PER_MS) /* two quanta */
#define LONGEST_NS     (100 * NS_PER_MS)
#define WORK_MOST_NS   (1000 * NS_PER_S) /* that a process may leave: more is nonsense */
/* A limit that was raised is felt after this time, and some for those who wait to wake. */
#define FORGIVEN_WALL_NS (60 * NS_PER_MS)
/* Kept for waits: in milliseconds, {until, how much}. */
enum { KEPT_BITS = 16, KEPT_WAITS = 4 };
#define KEPT_MOST_NS (16 * NS_PER_S)

static_assert(COMPUTE_WHOLE < 1 << RATE_BITS, "a rate fits its bits");

/* Wall time that work takes to pay at this rate. */
static int64_t wall_ns(int64_t work_ns, uint32_t permille)
{
        return work_ns * COMPUTE_WHOLE / (int64_t)permille;
}

static uint64_t word_make(int64_t paid_ns, uint32_t permille)
{
        uint64_t ticks = paid_ns > 0 ? (uint64_t)paid_ns / TICK_NS : 0;

        return ticks << RATE_BITS | permille;
}

/* When all is paid, at this rate: what is left is converted, credit beyond the depth is lost. */
static int64_t word_paid_ns(uint64_t word, struct compute_rate rate, uint64_t now_ns)
{
        int64_t now = (int64_t)now_ns, paid = (int64_t)(word >> RATE_BITS) * TICK_NS;
        int64_t kept = now_ns < rate.kept_until_ns ? (int64_t)rate.kept_wall_ns : 0;
        int64_t earliest = now - wall_ns((int64_t)rate.depth_ns, rate.permille) - kept;
        uint32_t before = (uint32_t)(word & RATE_MASK);

        if (before && before != rate.permille)
                paid = now + (paid - now) / (int64_t)rate.permille * (int64_t)before;
        return paid > earliest ? paid : earliest;
}

struct compute_rate region_compute_rate(const struct region_compute *compute, uint32_t permille)
{
        uint64_t longest = atomic_load_explicit(&compute->longest_ns, memory_order_relaxed);
        uint64_t depth = DEPTH_WALL_NS * permille / COMPUTE_WHOLE;

        if (depth < DEPTH_LEAST_NS)
                depth = DEPTH_LEAST_NS;
        if (longest > LONGEST_NS)
                longest = LONGEST_NS;
        const uint64_t kept = atomic_load_explicit(&compute->kept, memory_order_relaxed);
        return (struct compute_rate){
                .permille = permille,
                .depth_ns = depth > longest ? depth : longest,
                .kept_until_ns = (kept >> KEPT_BITS) * NS_PER_MS,
                .kept_wall_ns = (kept & ((UINT64_C(1) << KEPT_BITS) - 1)) * NS_PER_MS,
        };
}

/* Never more than what was earned and not used: several processes may have waited for one time slice. */
void region_compute_keep(struct region_compute *compute, uint64_t now_ns, uint64_t waited_ns)
{
        const uint64_t word = atomic_load(&compute->debt), permille = word & RATE_MASK;
        const uint64_t paid_ns = (word >> RATE_BITS) * TICK_NS;

        if (!permille || waited_ns < NS_PER_MS || paid_ns >= now_ns)
                return;
        const struct compute_rate rate = region_compute_rate(compute, (uint32_t)permille);
        const uint64_t depth_ns = (uint64_t)wall_ns((int64_t)rate.depth_ns, (uint32_t)permille);
        uint64_t kept_ns =
                waited_ns + (now_ns - waited_ns < rate.kept_until_ns ? rate.kept_wall_ns : 0);

        if (kept_ns > KEPT_MOST_NS)
                kept_ns = KEPT_MOST_NS;
        if (now_ns - paid_ns < depth_ns + kept_ns)
                kept_ns = now_ns - paid_ns > depth_ns ? now_ns - paid_ns - depth_ns : 0;
        if (kept_ns < NS_PER_MS)
                return;
        atomic_store(&compute->kept, (now_ns + KEPT_WAITS * kept_ns) / NS_PER_MS << KEPT_BITS |
                                             kept_ns / NS_PER_MS);
}

uint64_t region_compute_owed_ns(const struct region_compute *compute, struct compute_rate rate,
                                uint64_t now_ns)
{
        int64_t paid = word_paid_ns(atomic_load(&compute->debt), rate, now_ns);

        return paid > (int64_t)now_ns ? (uint64_t)paid - now_ns : 0;
}

uint64_t region_compute_take(struct region_compute *compute, struct compute_rate rate,
                             uint64_t now_ns, uint64_t work_ns)
{
        uint64_t word = atomic_load(&compute->debt);

        for (;;) {
                const int64_t paid = word_paid_ns(word, rate, now_ns);
                const bool is_owed = paid > (int64_t)now_ns;
                const int64_t more = is_owed ? 0 : wall_ns((int64_t)work_ns, rate.permille);

                /* What was converted to another rate is kept: converted anew at each query, the rest
                 * would shrink with the old deadline, and no sooner. */
                if ((is_owed && (word & RATE_MASK) == rate.permille) ||
                    atomic_compare_exchange_weak(&compute->debt, &word,
                                                 word_make(paid + more, rate.permille)))
                        return is_owed ? (uint64_t)paid - now_ns : 0;
        }
}

void region_compute_forgive(struct region_compute *compute, uint32_t permille, uint64_t now_ns)
{
        uint32_t before = atomic_load(&compute->share_permille);

        if (before == permille ||
            !atomic_compare_exchange_strong(&compute->share_permille, &before, permille) ||
            before == 0 || before > permille)
                return;
        const struct compute_rate rate = region_compute_rate(compute, permille);
        const int64_t most = (int64_t)(now_ns + FORGIVEN_WALL_NS);
        uint64_t word = atomic_load(&compute->debt), next;
        do {
                const int64_t paid = word_paid_ns(word, rate, now_ns);
                next = word_make(paid < most ? paid : most, permille);
        } while (!atomic_compare_exchange_weak(&compute->debt, &word, next));
}

bool region_compute_correct(struct region_compute *compute, struct compute_rate rate,
                            uint64_t now_ns, int64_t work_ns)
{
        uint64_t word = atomic_load(&compute->debt), next;
        int64_t paid;

        do {
                paid = word_paid_ns(word, rate, now_ns);
                next = word_make(paid + wall_ns(work_ns, rate.permille), rate.permille);
        } while (!atomic_compare_exchange_weak(&compute->debt, &word, next));
        return work_ns < 0 && paid > (int64_t)now_ns;
}

void region_compute_add(struct region_compute *compute, uint64_t at_ns, uint64_t work_ns)
{
        const uint32_t permille = (uint32_t)(atomic_load(&compute->debt) & RATE_MASK);

        if (work_ns > WORK_MOST_NS)
                work_ns = WORK_MOST_NS;
        /* Nobody charged anything yet: there was no limit. */
        if (permille && permille < COMPUTE_WHOLE)
                region_compute_correct(compute, region_compute_rate(compute, permille), at_ns,
                                       (int64_t)work_ns);
}

/* Times that are remembered, in slots of a length. */
struct record {
        _Atomic uint64_t *cells;
        unsigned count;
        uint64_t slot_ns;
};

static struct record use_of(const struct region_compute *compute)
{
        return (struct record){ (_Atomic uint64_t *)compute->cells, REGION_CELLS, SLOT_NS };
}

static struct record waits_of(const struct region_compute *compute)
{
        return (struct record){ (_Atomic uint64_t *)compute->waits, REGION_WAITS, WAIT_SLOT_NS };
}

/* Marks the slots of one cell; how many were marked before. */
static unsigned cell_mark(_Atomic uint64_t *cell, uint64_t number, uint64_t slots)
{
        uint64_t word = atomic_load_explicit(cell, memory_order_relaxed), had;

        do {
                if (word >> CELL_SLOTS > number)
                        return 0; /* so long ago that nothing is known of it any more */
                had = word >> CELL_SLOTS == number ? word & CELL_MASK : 0;
        } while (!atomic_compare_exchange_weak(cell, &word, number << CELL_SLOTS | had | slots));
        return (unsigned)__builtin_popcountll(had & slots);
}

/* Edges are rounded to the nearest slot: spans that follow each other do not overlap, and what is
 * rounded up once is rounded down another time. */
static uint64_t record_cover(struct record record, uint64_t begin_ns, uint64_t end_ns)
{
        const uint64_t slot_ns = record.slot_ns;
        uint64_t first = (begin_ns + slot_ns / 2) / slot_ns,
                 last = (end_ns + slot_ns / 2) / slot_ns;
        uint64_t known = 0;

        if (end_ns <= begin_ns)
                return 0;
        if (last - first > (record.count - 1) * CELL_SLOTS)
                first = last - (record.count - 1) * CELL_SLOTS;
        while (first < last) {
                uint64_t number = first / CELL_SLOTS, edge = (number + 1) * CELL_SLOTS;
                uint64_t until = edge < last ? edge : last;
                uint64_t slots = ((UINT64_C(1) << (until - first)) - 1) << first % CELL_SLOTS;

                known += cell_mark(&record.cells[number % record.count], number, slots);
                first = until;
        }
        return known * slot_ns < end_ns - begin_ns ? end_ns - begin_ns - known * slot_ns : 0;
}

/* Of the whole cells before now, as many as the window has. */
static uint64_t record_sum_ns(struct record record, uint64_t now_ns, unsigned window_ms)
{
        const uint64_t cell_ns = CELL_SLOTS * record.slot_ns;
        uint64_t last = now_ns / cell_ns, count = window_ms * NS_PER_MS / cell_ns, slots = 0;

        for (uint64_t i = 1; i <= count && i < record.count && i <= last; i++) {
                uint64_t word = atomic_load_explicit(&record.cells[(last - i) % record.count],
                                                     memory_order_relaxed);
                if (word >> CELL_SLOTS == last - i)
                        slots += (unsigned)__builtin_popcountll(word & CELL_MASK);
        }
        return slots * record.slot_ns;
}

uint64_t region_compute_cover(struct region_compute *compute, uint64_t begin_ns, uint64_t end_ns)
{
        return record_cover(use_of(compute), begin_ns, end_ns);
}

uint64_t region_compute_throttle(struct region_compute *compute, uint64_t begin_ns, uint64_t end_ns)
{
        return record_cover(waits_of(compute), begin_ns, end_ns);
}

void region_compute_saw(struct region_compute *compute, uint64_t work_ns)
{
        uint64_t longest = atomic_load_explicit(&compute->longest_ns, memory_order_relaxed);

        while (work_ns > longest &&
               !atomic_compare_exchange_weak(&compute->longest_ns, &longest, work_ns))
                ;
}

uint64_t region_compute_used_ns(const struct region_compute *compute, uint64_t now_ns,
                                unsigned window_ms)
{
        return record_sum_ns(use_of(compute), now_ns, window_ms);
}

uint64_t region_compute_throttled_ns(const struct region_compute *compute, uint64_t now_ns,
                                     unsigned window_ms)
{
        return now_ns > WAIT_LATE_NS
                       ? record_sum_ns(waits_of(compute), now_ns - WAIT_LATE_NS, window_ms)
                       : 0;
}
