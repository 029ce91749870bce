/* SPDX-License-Identifier: Apache-2.0 */
/* The tenant's side of time slices. */
#include "gpu_timeslice.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "process.h"

/* Where more than these are taken, whoever has nothing to do leaves its slot to others. */
enum { SLOTS_KEPT = GPU_SLOTS / 2 };
/* Asking after all who have one takes milliseconds. */
#define REAP_NS        (500 * NS_PER_MS)
#define ALONE_LEAST_NS (4 * NS_PER_MS)
/* Submitting takes this long itself. */
#define SUBMIT_NS (10 * NS_PER_US)
/* The last bit of a wait is not slept: as long as sleeping took too long lately, between these. */
#define LATE_LEAST_NS (40 * NS_PER_US)
#define LATE_MOST_NS  (2 * NS_PER_MS)

int gpu_timeslice_open(const char *grant_path, const char *want_path, unsigned device,
                       struct gpu_timeslice *ret_timeslice, struct err *e)
{
        struct gpu_timeslice timeslice = { 0 };
        int r = gpu_grant_map(grant_path, PROT_READ, &timeslice.grants, e);

        if (r < 0)
                return r;
        r = gpu_want_map(want_path, &timeslice.wants, e);
        if (r == 0 && (device >= gpu_grant_count(timeslice.grants) ||
                       device >= gpu_want_count(timeslice.wants)))
                r = err_set(e, -EPROTO, "'%s' has no page for device %u", grant_path, device);
        if (r < 0) {
                gpu_timeslice_close(&timeslice);
                return r;
        }
        timeslice.grant = &timeslice.grants->devices[device];
        timeslice.want = &timeslice.wants->devices[device];
        *ret_timeslice = timeslice;
        return 0;
}

void gpu_timeslice_close(struct gpu_timeslice *timeslice)
{
        if (timeslice->slot && timeslice->pid == (uint32_t)getpid()) {
                gpu_timeslice_end(timeslice, false);
                if (timeslice->slot)
                        atomic_store(&timeslice->slot->pid, 0);
        }
        gpu_grant_unmap(timeslice->grants);
        gpu_want_unmap(timeslice->wants);
        *timeslice = (struct gpu_timeslice){ 0 };
}

/* The slot tells which time slice it took up: one that ends before the arbiter reads it was taken all the
 * same. */
static void slot_set(struct gpu_timeslice *timeslice, enum gpu_slot_state state)
{
        atomic_store(&timeslice->slot->state,
                     (timeslice->number & ~(uint32_t)GPU_STATE_MASK) | state);
}

static bool slot_is_dead(const struct gpu_slot *slot, uint32_t pid)
{
        return !process_is_alive((pid_t)pid, atomic_load(&slot->start_time));
}

/* What the dead were doing is over: their work died with them. So did the work of the program that this process ran
 * before execve(). We have no slot yet. */
static void slots_reap(struct gpu_timeslice *timeslice)
{
        const uint32_t high = atomic_load(&timeslice->want->slots_high);

        for (uint32_t i = 0; i < high && i < GPU_SLOTS; i++) {
                struct gpu_slot *slot = &timeslice->want->slots[i];
                uint32_t pid = atomic_load(&slot->pid);

                if (pid && (pid == timeslice->pid || slot_is_dead(slot, pid))) {
                        atomic_store(&slot->state, GPU_IDLE);
                        atomic_compare_exchange_strong(&slot->pid, &pid, 0);
                }
        }
}

static bool slot_take(struct gpu_timeslice *timeslice, uint32_t index)
{
        struct gpu_slot *slot = &timeslice->want->slots[index];
        uint32_t free = 0;
        uint32_t high = atomic_load(&timeslice->want->slots_high);

        if (!atomic_compare_exchange_strong(&slot->pid, &free, timeslice->pid))
                return false;
        atomic_store(&slot->state, GPU_IDLE);
        atomic_store(&slot->done_ns, 0);
        atomic_store(&slot->start_time, process_start_time((pid_t)timeslice->pid));
        while (high <= index &&
               !atomic_compare_exchange_weak(&timeslice->want->slots_high, &high, index + 1))
                ;
        timeslice->slot = slot;
        return true;
}

static bool slot_find(struct gpu_timeslice *timeslice)
{
        for (uint32_t i = 0; i < GPU_SLOTS && !timeslice->slot; i++)
                slot_take(timeslice, i);
        return timeslice->slot;
}

/* A child of fork has its parent's memory, but is a process of its own. */
static void slot_join(struct gpu_timeslice *timeslice)
{
        const uint32_t pid = (uint32_t)getpid();

        if (timeslice->slot && timeslice->pid == pid)
                return;
        timeslice->slot = NULL;
        timeslice->pid = pid;
        slots_reap(timeslice);
        slot_find(timeslice);
}

static bool grant_is_on(const struct gpu_timeslice *timeslice, uint32_t word, uint64_t now_ns)
{
        return (word & GPU_STATE_MASK) != GPU_CLOSED &&
               now_ns < atomic_load(&timeslice->grant->deadline_ns);
}

/* First our mark, then the query: the arbiter does it the other way round. */
static bool timeslice_try(struct gpu_timeslice *timeslice)
{
        const uint32_t word = atomic_load(&timeslice->grant->timeslice), before = timeslice->number;

        if (!grant_is_on(timeslice, word, clock_now_ns()))
                return false;
        timeslice->number = word;
        slot_set(timeslice, GPU_ACTIVE);
        if (atomic_load(&timeslice->grant->timeslice) == word &&
            grant_is_on(timeslice, word, clock_now_ns())) {
                timeslice->until_ns = 0;
                return true;
        }
        timeslice->number = before;
        slot_set(timeslice, GPU_WANTS);
        futex_ring(&timeslice->wants->bell);
        return false;
}

/* Where memory changes hands with the time slice, going on without one costs everybody a few such changes: it
 * is worth more patience. */
static bool arbiter_is_stale(const struct gpu_timeslice *timeslice, uint64_t asked_ns,
                             uint64_t now_ns)
{
        const uint64_t beat = atomic_load(&timeslice->grant->heartbeat_ns);
        const uint64_t sign = beat > asked_ns ? beat : asked_ns;
        const uint64_t patience_ns = GPU_STALE_NS + 4 * atomic_load(&timeslice->grant->swap_ns);

        return now_ns > sign && now_ns - sign >= patience_ns;
}

/* A word that changes from here on is somebody's who has come. */
static void timeslice_go_alone(struct gpu_timeslice *timeslice, uint32_t word, uint64_t now_ns)
{
        timeslice->number = word;
        slot_set(timeslice, GPU_ACTIVE);
        timeslice->until_ns = now_ns + GPU_STALE_NS;
        futex_ring(&timeslice->wants->alarm);
}

/* Rings again when the word has changed and is not a yes: a time slice was given and passed on before we
 * could take it up, and the arbiter waits for a sign of life. */
static void timeslice_wait(struct gpu_timeslice *timeslice)
{
        const uint64_t asked_ns = clock_now_ns();
        uint32_t rung = ~atomic_load(&timeslice->grant->timeslice);

        for (;;) {
                const uint32_t word = atomic_load(&timeslice->grant->timeslice);
                if (timeslice_try(timeslice))
                        return;
                const uint64_t now_ns = clock_now_ns();
                if (arbiter_is_stale(timeslice, asked_ns, now_ns)) {
                        timeslice_go_alone(timeslice, word, now_ns);
                        return;
                }
                if (word != rung)
                        futex_ring(&timeslice->wants->bell);
                rung = word;
                futex_wait(&timeslice->grant->timeslice, word, GPU_BEAT_NS);
        }
}

/* Sleeps, unless the arbiter has news, and learns by how much later than asked this host wakes its threads. */
static void sleep_until(struct gpu_timeslice *timeslice, uint64_t now_ns, uint64_t until_ns)
{
        futex_wait(&timeslice->grant->timeslice, timeslice->number, until_ns - now_ns);
        const uint64_t woken_ns = clock_now_ns();
        uint64_t late_ns = woken_ns - until_ns;

        if (woken_ns < until_ns) /* woken by the arbiter */
                return;
        late_ns = late_ns < LATE_MOST_NS ? late_ns : LATE_MOST_NS;
        timeslice->late_ns = late_ns > timeslice->late_ns
                                     ? late_ns
                                     : timeslice->late_ns - (timeslice->late_ns - late_ns) / 8;
}

/* Awake, but not at work before the last work of others should be done. */
static void not_before_wait(struct gpu_timeslice *timeslice)
{
        for (;;) {
                const uint64_t until_ns = atomic_load(&timeslice->grant->not_before_ns);
                const uint64_t now_ns = clock_now_ns();
                const uint64_t late_ns =
                        timeslice->late_ns > LATE_LEAST_NS ? timeslice->late_ns : LATE_LEAST_NS;

                if (until_ns <= now_ns + SUBMIT_NS || until_ns - now_ns > NS_PER_S ||
                    timeslice->until_ns ||
                    atomic_load(&timeslice->grant->timeslice) != timeslice->number)
                        return;
                if (until_ns - now_ns > late_ns + SUBMIT_NS)
                        sleep_until(timeslice, now_ns, until_ns - late_ns);
        }
}

/* More processes than slots: nobody would know of the work of one without, so that it takes no time slice. True: it
 * has a slot; false: none is needed, because no arbiter gives time slices. */
static bool slot_wait(struct gpu_timeslice *timeslice)
{
        const uint64_t asked_ns = clock_now_ns();
        uint64_t reaped_ns = asked_ns;

        for (;;) {
                const uint32_t word = atomic_load(&timeslice->grant->timeslice);
                const uint64_t now_ns = clock_now_ns();
                const bool is_free = (word & GPU_STATE_MASK) == GPU_FREE;

                if (is_free || arbiter_is_stale(timeslice, asked_ns, now_ns)) {
                        timeslice->number = word;
                        timeslice->until_ns = is_free ? 0 : now_ns + GPU_STALE_NS;
                        return false;
                }
                /* The arbiter does not see who waits here, and may sleep: woken, it is not taken for gone. */
                if (now_ns > atomic_load(&timeslice->grant->heartbeat_ns) + GPU_BEAT_NS)
                        futex_ring(&timeslice->wants->bell);
                futex_wait(&timeslice->grant->timeslice, word, GPU_BEAT_NS);
                if (now_ns - reaped_ns >= REAP_NS) {
                        reaped_ns = now_ns;
                        slots_reap(timeslice);
                }
                if (slot_find(timeslice))
                        return true;
        }
}

bool gpu_timeslice_begin(struct gpu_timeslice *timeslice)
{
        const int saved_errno = errno;
        const uint32_t before = timeslice->number;

        slot_join(timeslice);
        if (!timeslice->slot && !slot_wait(timeslice)) {
                errno = saved_errno;
                return timeslice->number != before;
        }
        if (!timeslice_try(timeslice)) {
                slot_set(timeslice, GPU_WANTS);
                timeslice_wait(timeslice);
        }
        not_before_wait(timeslice);
        atomic_store_explicit(&timeslice->want->begun_ns, clock_now_ns(), memory_order_relaxed);
        errno = saved_errno;
        return timeslice->number != before;
}

bool gpu_timeslice_query(struct gpu_timeslice *timeslice, uint64_t now_ns)
{
        if (timeslice->until_ns == 0)
                return false; /* the arbiter's word holds, and it says no */
        /* An arbiter has come. It waits for us to drain, so that we may do something first: whoever has
         * just given up waiting would otherwise wait twice in a row. */
        if (atomic_load(&timeslice->grant->timeslice) != timeslice->number)
                return now_ns + GPU_STALE_NS < timeslice->until_ns + ALONE_LEAST_NS;
        if (now_ns >= timeslice->until_ns) {
                if (!arbiter_is_stale(timeslice, 0, now_ns))
                        return false;
                timeslice->until_ns = now_ns + GPU_STALE_NS;
        }
        return true;
}

uint64_t gpu_timeslice_deadline_ns(const struct gpu_timeslice *timeslice)
{
        return timeslice->until_ns ? GPU_NO_DEADLINE : atomic_load(&timeslice->grant->deadline_ns);
}

uint64_t gpu_timeslice_in_flight_ns(const struct gpu_timeslice *timeslice, uint64_t default_ns)
{
        const uint64_t bound =
                timeslice->until_ns ? 0 : atomic_load(&timeslice->grant->in_flight_ns);

        return bound ? bound : default_ns;
}

/* No deadline: nobody else wants, and the time slice stays ours. The arbiter sets one before it looks at
 * the slots. */
static void ring_if_wanted(struct gpu_timeslice *timeslice)
{
        if (atomic_load(&timeslice->grant->deadline_ns) != GPU_NO_DEADLINE ||
            (atomic_load(&timeslice->grant->timeslice) & GPU_STATE_MASK) != GPU_OPEN)
                futex_ring(&timeslice->wants->bell);
}

void gpu_timeslice_drain(struct gpu_timeslice *timeslice)
{
        if (!timeslice->slot || timeslice->until_ns)
                return;
        slot_set(timeslice, GPU_DRAINS);
        ring_if_wanted(timeslice);
}

void gpu_timeslice_end(struct gpu_timeslice *timeslice, bool wants_more)
{
        struct gpu_slot *slot = timeslice->slot;

        if (!slot)
                return;
        atomic_store(&slot->done_ns, 0);
        slot_set(timeslice, wants_more ? GPU_WANTS : GPU_IDLE);
        ring_if_wanted(timeslice);
        if (wants_more || atomic_load(&timeslice->want->slots_high) <= SLOTS_KEPT)
                return;
        timeslice->slot = NULL;
        atomic_store(&slot->pid, 0);
}

void gpu_timeslice_note(struct gpu_timeslice *timeslice, uint64_t busy_ns, uint64_t done_ns)
{
        struct gpu_slot *slot = timeslice->slot; /* another thread may leave it */

        if (!slot)
                return;
        atomic_store_explicit(&slot->busy_ns, busy_ns, memory_order_relaxed);
        atomic_store_explicit(&slot->done_ns, done_ns, memory_order_relaxed);
        atomic_fetch_add_explicit(&timeslice->want->beats, 1, memory_order_relaxed);
}

void gpu_timeslice_tell_memory(struct gpu_timeslice *timeslice, uint64_t resident_bytes,
                               uint64_t movable_bytes)
{
        enum { PARTS = 64 }; /* of the device: smaller changes wait for the next sign of life */
        const uint64_t part = timeslice->grant->device_bytes / PARTS;
        atomic_store_explicit(&timeslice->want->movable_bytes, movable_bytes, memory_order_relaxed);
        const uint64_t before = atomic_exchange(&timeslice->want->resident_bytes, resident_bytes);

        if (part && before / part != resident_bytes / part)
                futex_ring(&timeslice->wants->bell);
}

void gpu_timeslice_note_memory(struct gpu_timeslice *timeslice, uint64_t resident_bytes)
{
        atomic_store_explicit(&timeslice->want->resident_bytes, resident_bytes,
                              memory_order_relaxed);
}
