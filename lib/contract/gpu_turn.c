/* The tenant's side of the turns. */
#include "gpu_turn.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "process.h"

#define ALONE_LEAST_NS (4 * NS_PER_MS)

int gpu_turn_open(const char *grant_path, const char *want_path, unsigned device,
                  struct gpu_turn *ret_turn, struct err *e)
{
        struct gpu_turn turn = { 0 };
        int r = gpu_grant_map(grant_path, PROT_READ, &turn.grants, e);

        if (r < 0)
                return r;
        r = gpu_want_map(want_path, &turn.wants, e);
        if (r == 0 && (device >= turn.grants->device_count || device >= turn.wants->device_count))
                r = err_set(e, -EPROTO, "'%s' has no page for device %u", grant_path, device);
        if (r < 0) {
                gpu_turn_close(&turn);
                return r;
        }
        turn.grant = &turn.grants->devices[device];
        turn.want = &turn.wants->devices[device];
        *ret_turn = turn;
        return 0;
}

void gpu_turn_close(struct gpu_turn *turn)
{
        if (turn->lane && turn->pid == (uint32_t)getpid()) {
                gpu_turn_end(turn, false);
                atomic_store(&turn->lane->pid, 0);
        }
        gpu_grant_unmap(turn->grants);
        gpu_want_unmap(turn->wants);
        *turn = (struct gpu_turn){ 0 };
}

/* The lane tells which turn it took up: one that ends before the arbiter looks was taken all the
 * same. */
static void lane_set(struct gpu_turn *turn, enum gpu_lane_state state)
{
        atomic_store(&turn->lane->state, (turn->number & ~(uint32_t)GPU_STATE_MASK) | state);
}

static bool lane_is_dead(const struct gpu_lane *lane, uint32_t pid)
{
        return !process_is_alive((pid_t)pid, atomic_load(&lane->start_time));
}

/* What the dead were doing is over: their work died with them. */
static void lanes_bury(struct gpu_turn *turn)
{
        const uint32_t high = atomic_load(&turn->want->lanes_high);

        for (uint32_t i = 0; i < high && i < GPU_LANES; i++) {
                struct gpu_lane *lane = &turn->want->lanes[i];
                uint32_t pid = atomic_load(&lane->pid);

                if (pid && pid != turn->pid && lane_is_dead(lane, pid)) {
                        atomic_store(&lane->state, GPU_IDLE);
                        atomic_compare_exchange_strong(&lane->pid, &pid, 0);
                }
        }
}

static bool lane_take(struct gpu_turn *turn, uint32_t index)
{
        struct gpu_lane *lane = &turn->want->lanes[index];
        uint32_t free = 0;
        uint32_t high = atomic_load(&turn->want->lanes_high);

        if (!atomic_compare_exchange_strong(&lane->pid, &free, turn->pid))
                return false;
        atomic_store(&lane->state, GPU_IDLE);
        atomic_store(&lane->in_flight_ns, 0);
        atomic_store(&lane->start_time, process_start_time((pid_t)turn->pid));
        while (high <= index &&
               !atomic_compare_exchange_weak(&turn->want->lanes_high, &high, index + 1))
                ;
        turn->lane = lane;
        return true;
}

/* A child of fork has its parent's memory, but is a process of its own. */
static void lane_join(struct gpu_turn *turn)
{
        const uint32_t pid = (uint32_t)getpid();

        if (turn->lane && turn->pid == pid)
                return;
        turn->lane = NULL;
        turn->pid = pid;
        lanes_bury(turn);
        for (uint32_t i = 0; i < GPU_LANES && !turn->lane; i++)
                lane_take(turn, i);
}

static bool word_is_on(const struct gpu_turn *turn, uint32_t word, uint64_t now_ns)
{
        return (word & GPU_STATE_MASK) != GPU_CLOSED &&
               now_ns < atomic_load(&turn->grant->deadline_ns);
}

/* First our mark, then the look: the arbiter does it the other way round. */
static bool turn_try(struct gpu_turn *turn)
{
        const uint32_t word = atomic_load(&turn->grant->turn), before = turn->number;

        if (!word_is_on(turn, word, clock_now_ns()))
                return false;
        turn->number = word;
        lane_set(turn, GPU_ACTIVE);
        if (atomic_load(&turn->grant->turn) == word && word_is_on(turn, word, clock_now_ns())) {
                turn->until_ns = 0;
                return true;
        }
        turn->number = before;
        lane_set(turn, GPU_WANTS);
        futex_ring(&turn->wants->bell);
        return false;
}

/* Where memory changes hands with the turn, going on without one costs everybody a few such changes: it
 * is worth more patience. */
static bool arbiter_is_stale(const struct gpu_turn *turn, uint64_t asked_ns, uint64_t now_ns)
{
        const uint64_t beat = atomic_load(&turn->grant->heartbeat_ns);
        const uint64_t sign = beat > asked_ns ? beat : asked_ns;
        const uint64_t patience_ns = GPU_STALE_NS + 4 * atomic_load(&turn->grant->swap_ns);

        return now_ns > sign && now_ns - sign >= patience_ns;
}

/* A word that changes from here on is somebody's who has come. */
static void turn_go_alone(struct gpu_turn *turn, uint32_t word, uint64_t now_ns)
{
        turn->number = word;
        lane_set(turn, GPU_ACTIVE);
        turn->until_ns = now_ns + GPU_STALE_NS;
        futex_ring(&turn->wants->alarm);
}

/* Rings again when the word has changed and is not a yes: a turn was given and passed on before we
 * could take it up, and the arbiter waits for a sign of life. */
static void turn_wait(struct gpu_turn *turn)
{
        const uint64_t asked_ns = clock_now_ns();
        uint32_t rung = ~atomic_load(&turn->grant->turn);

        for (;;) {
                const uint32_t word = atomic_load(&turn->grant->turn);
                if (turn_try(turn))
                        return;
                const uint64_t now_ns = clock_now_ns();
                if (arbiter_is_stale(turn, asked_ns, now_ns)) {
                        turn_go_alone(turn, word, now_ns);
                        return;
                }
                if (word != rung)
                        futex_ring(&turn->wants->bell);
                rung = word;
                futex_wait(&turn->grant->turn, word, GPU_BEAT_NS);
        }
}

bool gpu_turn_begin(struct gpu_turn *turn)
{
        const int saved_errno = errno;
        const uint32_t before = turn->number;

        lane_join(turn);
        if (!turn->lane) { /* more processes than lanes: by its own debt alone */
                turn->until_ns = UINT64_MAX;
                return false;
        }
        if (!turn_try(turn)) {
                lane_set(turn, GPU_WANTS);
                turn_wait(turn);
        }
        errno = saved_errno;
        return turn->number != before;
}

bool gpu_turn_look(struct gpu_turn *turn, uint64_t now_ns)
{
        if (turn->until_ns == 0)
                return false; /* the arbiter's word holds, and it says no */
        if (!turn->lane)
                return true;
        /* An arbiter has come. It waits for us to drain, so that we may do something first: whoever has
         * just given up waiting would otherwise wait twice in a row. */
        if (atomic_load(&turn->grant->turn) != turn->number)
                return now_ns + GPU_STALE_NS < turn->until_ns + ALONE_LEAST_NS;
        if (now_ns >= turn->until_ns) {
                if (!arbiter_is_stale(turn, 0, now_ns))
                        return false;
                turn->until_ns = now_ns + GPU_STALE_NS;
        }
        return true;
}

uint64_t gpu_turn_deadline_ns(const struct gpu_turn *turn)
{
        return turn->until_ns ? GPU_NO_DEADLINE : atomic_load(&turn->grant->deadline_ns);
}

uint64_t gpu_turn_in_flight_ns(const struct gpu_turn *turn, uint64_t default_ns)
{
        const uint64_t bound = turn->until_ns ? 0 : atomic_load(&turn->grant->in_flight_ns);

        return bound ? bound : default_ns;
}

void gpu_turn_end(struct gpu_turn *turn, bool wants_more)
{
        if (!turn->lane)
                return;
        atomic_store(&turn->lane->in_flight_ns, 0);
        lane_set(turn, wants_more ? GPU_WANTS : GPU_IDLE);
        /* No deadline: nobody else wants, and the turn stays ours. The arbiter sets one before it
         * looks at the lanes. */
        if (atomic_load(&turn->grant->deadline_ns) != GPU_NO_DEADLINE ||
            (atomic_load(&turn->grant->turn) & GPU_STATE_MASK) != GPU_OPEN)
                futex_ring(&turn->wants->bell);
}

void gpu_turn_note(struct gpu_turn *turn, uint64_t busy_ns, uint64_t in_flight_ns)
{
        if (!turn->lane)
                return;
        atomic_store_explicit(&turn->lane->busy_ns, busy_ns, memory_order_relaxed);
        atomic_store_explicit(&turn->lane->in_flight_ns, in_flight_ns, memory_order_relaxed);
}

void gpu_turn_note_memory(struct gpu_turn *turn, uint64_t resident_bytes)
{
        atomic_store_explicit(&turn->want->resident_bytes, resident_bytes, memory_order_relaxed);
}
