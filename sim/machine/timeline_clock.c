/* SPDX-License-Identifier: Apache-2.0 */
/* Moves a unit's clock: who runs, for how long, what completes. One step at a time, each through
 * the journal, so that a process killed in a step costs nobody a nanosecond. */
#include <errno.h>
#include <stdbool.h>

#include "slot.h"
#include "timeline_internal.h"

enum { WINDOW = 16 }; /* how far past one that is ready another goes first that has begun */

/* A step under way: the new values of words of the file. */
struct step {
        struct machine_file *file;
        struct machine_journal *journal;
        uint64_t count;
};

static void step_set(struct step *step, const void *word, uint64_t value)
{
        step->journal->words[step->count].offset =
                (uint64_t)((const char *)word - (const char *)step->file);
        step->journal->words[step->count].value = value;
        step->count++;
}

static void journal_apply(struct machine_file *file, struct machine_journal *journal)
{
        uint64_t count = atomic_load_explicit(&journal->count, memory_order_acquire);

        for (uint64_t i = 0; i < count && i < MACHINE_JOURNAL; i++) {
                _Atomic uint64_t *word =
                        (_Atomic uint64_t *)((char *)file + journal->words[i].offset);
                /* A head that moved hands its entries to the submitter, who takes no lock. */
                atomic_store_explicit(word, journal->words[i].value, memory_order_release);
        }
        atomic_store_explicit(&journal->count, 0, memory_order_release);
}

static void step_commit(struct step *step)
{
        atomic_store_explicit(&step->journal->count, step->count, memory_order_release);
        journal_apply(step->file, step->journal);
        step->count = 0;
}

void timeline_lock(struct machine *machine, unsigned index)
{
        struct machine_unit *unit = machine_unit(machine, index);

        machine_lock(&unit->time_lock);
        if (atomic_load_explicit(&unit->journal.count, memory_order_relaxed))
                journal_apply(machine->file, &unit->journal);
}

void timeline_unlock(struct machine *machine, unsigned index)
{
        machine_unlock(&machine_unit(machine, index)->time_lock);
}

/* When it completed; 0: it has not. The clock of another unit may be behind that time. */
static uint64_t ref_end_ns(const struct machine *machine, machine_ref ref)
{
        struct machine_queue *queue = ref_queue(machine, ref);
        uint64_t sequence = ref & REF_SEQUENCE;
        bool is_past = sequence < atomic_load_explicit(&queue->head, memory_order_acquire);

        if ((ref & REF_ALL) && !is_past)
                return 0;
        uint64_t end_ns =
                atomic_load_explicit(&queue_op(queue, sequence)->end_ns, memory_order_acquire);
        /* Its entry is another's: so long ago that no clock is behind it. */
        if (atomic_load_explicit(&queue->tail, memory_order_acquire) > sequence + MACHINE_RING)
                return 1;
        return end_ns || !is_past ? end_ns : 1;
}

bool ref_is_done(const struct machine *machine, machine_ref ref, uint64_t at_ns)
{
        uint64_t end_ns = ref_end_ns(machine, ref);

        return end_ns && end_ns <= at_ns;
}

/* Ready at the unit's time? If only its time has not come, lowers *next_ns to that time. */
static bool op_is_ready(struct machine *machine, const struct machine_op *op, uint64_t now_ns,
                        uint64_t *next_ns)
{
        if (atomic_load_explicit(&op->end_ns, memory_order_relaxed))
                return false;
        if (atomic_load_explicit(&op->remaining_ns, memory_order_acquire) == MACHINE_NS_UNKNOWN)
                return false;
        uint64_t ready_ns = op->ready_ns;
        for (unsigned i = 0; i < MACHINE_DEPS && op->deps[i]; i++) {
                uint64_t end_ns = ref_end_ns(machine, op->deps[i]);
                if (!end_ns)
                        return false;
                if (end_ns > ready_ns)
                        ready_ns = end_ns;
        }
        if (ready_ns <= now_ns)
                return true;
        if (ready_ns < *next_ns)
                *next_ns = ready_ns;
        return false;
}

/* What an engine does in one step. */
struct pick {
        uint32_t channel;
        struct machine_op *op; /* NULL: idle */
        uint64_t sequence;
        uint64_t slice_end_ns;
};

/* The first ready operation of the queue; one that has begun goes before all others. */
static struct machine_op *queue_pick(struct machine *machine, struct machine_queue *queue,
                                     uint64_t now_ns, uint64_t *next_ns, uint64_t *ret_sequence)
{
        uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
        uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
        struct machine_op *found = NULL;

        /* What is blocked holds up its own stream, never another's. */
        for (uint64_t i = head, end = tail; i < end; i++) {
                struct machine_op *op = queue_op(queue, i);
                if (!op_is_ready(machine, op, now_ns, next_ns))
                        continue;
                if (found && !op->start_ns)
                        continue;
                if (!found && i + WINDOW < end)
                        end = i + WINDOW;
                found = op;
                *ret_sequence = i;
                if (op->start_ns)
                        break;
        }
        return found;
}

static bool channel_pick(struct machine *machine, uint32_t channel, unsigned engine,
                         uint64_t now_ns, uint64_t *next_ns, struct pick *pick)
{
        struct machine_channel *c = &machine->file->channels[channel];
        uint32_t slot = atomic_load_explicit(&c->slot, memory_order_acquire);

        /* The work of a dead process is gone, whoever cleans up after it. */
        if (!slot || !slot_is_alive(machine, slot - 1))
                return false;
        pick->op = queue_pick(machine, &c->queues[engine], now_ns, next_ns, &pick->sequence);
        pick->channel = channel;
        return pick->op != NULL;
}

/* The next active channel at or after `from`, or channels_high. */
static uint32_t active_next(const struct machine_unit *unit, uint32_t from, uint32_t high)
{
        while (from < high) {
                uint64_t word =
                        atomic_load_explicit(&unit->active[from / 64], memory_order_acquire) >>
                        from % 64;
                if (word)
                        return from + (uint32_t)__builtin_ctzll(word);
                from = (from / 64 + 1) * 64;
        }
        return high;
}

static void engine_pick(struct machine *machine, struct machine_unit *unit, unsigned engine,
                        uint64_t *next_ns, struct pick *pick)
{
        const struct machine_engine_state *state = &unit->engines[engine];
        uint64_t now_ns = unit->clock_ns;
        uint32_t high =
                atomic_load_explicit(&machine->file->header.channels_high, memory_order_acquire);
        uint32_t current = (uint32_t)state->current; /* index + 1: where the round goes on */

        *pick = (struct pick){ .slice_end_ns = state->slice_end_ns };
        if (current && now_ns < state->slice_end_ns &&
            channel_pick(machine, current - 1, engine, now_ns, next_ns, pick))
                return;
        pick->slice_end_ns = now_ns + machine->file->header.slice_ns;
        for (uint32_t c = active_next(unit, current, high); c < high;
             c = active_next(unit, c + 1, high))
                if (channel_pick(machine, c, engine, now_ns, next_ns, pick))
                        return;
        for (uint32_t c = active_next(unit, 0, high); c < current && c < high;
             c = active_next(unit, c + 1, high))
                if (channel_pick(machine, c, engine, now_ns, next_ns, pick))
                        return;
        pick->op = NULL;
}

static void step_bucket(struct step *step, struct machine_bucket *buckets, uint64_t now_ns,
                        uint64_t busy_ns)
{
        uint64_t index = now_ns / MACHINE_BUCKET_NS;
        struct machine_bucket *bucket = &buckets[index % MACHINE_BUCKETS];

        step_set(step, &bucket->busy_ns, busy_ns + (bucket->index == index ? bucket->busy_ns : 0));
        step_set(step, &bucket->index, index);
}

/* The queue's head once `done` is complete. */
static uint64_t queue_head_after(struct machine_queue *queue, uint64_t done)
{
        uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
        /* Not relaxed: an operation that was submitted just now lies where an old one did, whose end must
         * not be taken for its own. */
        uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);

        while (head < tail && (head == done || atomic_load_explicit(&queue_op(queue, head)->end_ns,
                                                                    memory_order_relaxed)))
                head++;
        return head;
}

static void step_run(struct step *step, struct machine_unit *unit, unsigned engine,
                     const struct pick *pick, uint64_t until_ns)
{
        struct machine_channel *channel = &step->file->channels[pick->channel];
        struct machine_engine_state *state = &unit->engines[engine];
        uint64_t span_ns = until_ns - unit->clock_ns;
        uint64_t left_ns = pick->op->remaining_ns - span_ns;

        if (!pick->op->start_ns)
                step_set(step, &pick->op->start_ns, unit->clock_ns ? unit->clock_ns : 1);
        step_set(step, &pick->op->remaining_ns, left_ns);
        if (left_ns == 0) {
                struct machine_queue *queue = &channel->queues[engine];
                step_set(step, &pick->op->end_ns, until_ns);
                step_set(step, &queue->head, queue_head_after(queue, pick->sequence));
        }
        step_set(step, &state->current, pick->channel + 1);
        step_set(step, &state->slice_end_ns, pick->slice_end_ns);
        step_set(step, &state->busy_ns, state->busy_ns + span_ns);
        step_set(step, &channel->busy_ns[engine], channel->busy_ns[engine] + span_ns);
        step_bucket(step, state->buckets, unit->clock_ns, span_ns);
        if (engine == ENGINE_COMPUTE)
                step_bucket(step, channel->buckets, unit->clock_ns, span_ns);
}

/* Host functions whose predecessors are complete are due from now on. */
static void step_host(struct step *step, struct machine *machine, struct machine_unit *unit,
                      uint64_t *next_ns)
{
        uint32_t high = atomic_load(&machine->file->header.channels_high);

        for (uint32_t c = active_next(unit, 0, high); c < high;
             c = active_next(unit, c + 1, high)) {
                struct machine_queue *queue = &machine->file->channels[c].queues[ENGINE_HOST];
                uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
                for (uint64_t i = queue->head; i < tail && step->count + 40 < MACHINE_JOURNAL;
                     i++) {
                        struct machine_op *op = queue_op(queue, i);
                        if (!op->start_ns && op_is_ready(machine, op, unit->clock_ns, next_ns))
                                step_set(step, &op->start_ns, unit->clock_ns + 1);
                }
        }
}

/* One step: from the clock to the next thing that happens, `until_ns` at most. */
static void unit_step(struct machine *machine, struct machine_unit *unit, uint64_t until_ns)
{
        struct step step = { .file = machine->file, .journal = &unit->journal };
        struct pick picks[ENGINE_HOST];
        uint64_t next_ns = until_ns;
        bool is_busy = false;

        step_host(&step, machine, unit, &next_ns);
        for (unsigned i = 0; i < ENGINE_HOST; i++) {
                engine_pick(machine, unit, i, &next_ns, &picks[i]);
                if (!picks[i].op)
                        continue;
                uint64_t end_ns = unit->clock_ns + picks[i].op->remaining_ns;
                uint64_t stop_ns = end_ns < picks[i].slice_end_ns ? end_ns : picks[i].slice_end_ns;
                if (stop_ns < next_ns)
                        next_ns = stop_ns;
                is_busy = true;
        }
        /* A step lies within one bucket of the history. */
        uint64_t edge_ns = (unit->clock_ns / MACHINE_BUCKET_NS + 1) * MACHINE_BUCKET_NS;
        if (is_busy && edge_ns < next_ns)
                next_ns = edge_ns;
        for (unsigned i = 0; i < ENGINE_HOST; i++)
                if (picks[i].op)
                        step_run(&step, unit, i, &picks[i], next_ns);
        step_set(&step, &unit->clock_ns, next_ns);
        step_commit(&step);
}

static bool channel_is_empty(const struct machine_channel *channel)
{
        for (unsigned i = 0; i < ENGINE_COUNT; i++)
                if (atomic_load(&channel->queues[i].head) != atomic_load(&channel->queues[i].tail))
                        return false;
        return true;
}

static void active_clear(struct machine *machine, struct machine_unit *unit)
{
        uint32_t high = atomic_load(&machine->file->header.channels_high);

        for (uint32_t c = active_next(unit, 0, high); c < high;
             c = active_next(unit, c + 1, high)) {
                const struct machine_channel *channel = &machine->file->channels[c];
                if (!channel_is_empty(channel))
                        continue;
                atomic_fetch_and(&unit->active[c / 64], ~(UINT64_C(1) << c % 64));
                /* Its process may have submitted in between and seen the bit still set. */
                if (!channel_is_empty(channel))
                        atomic_fetch_or(&unit->active[c / 64], UINT64_C(1) << c % 64);
        }
}

/* Moves the clocks first that work here waits for: a GPU's stream may follow another GPU's event.
 * Whoever holds such a clock is moving it, and two that wait for each other must not both hold on. */
static void sources_move(struct machine *machine, struct machine_unit *unit, uint64_t until_ns)
{
        uint32_t high = atomic_load(&machine->file->header.channels_high);
        uint64_t sources[MACHINE_UNITS / 64] = { 0 };

        for (uint32_t c = active_next(unit, 0, high); c < high; c = active_next(unit, c + 1, high))
                for (unsigned i = 0; i < MACHINE_UNITS / 64; i++)
                        sources[i] |= atomic_load_explicit(&machine->file->channels[c].sources[i],
                                                           memory_order_relaxed);
        for (unsigned i = 0; i < MACHINE_UNITS; i++) {
                struct machine_unit *source = machine_unit(machine, i);
                if (!(sources[i / 64] >> i % 64 & 1) || source->clock_ns >= until_ns)
                        continue;
                int r = pthread_mutex_trylock(&source->time_lock);
                if (r == EOWNERDEAD)
                        pthread_mutex_consistent(&source->time_lock);
                else if (r)
                        continue;
                if (atomic_load_explicit(&source->journal.count, memory_order_relaxed))
                        journal_apply(machine->file, &source->journal);
                timeline_move(machine, i, until_ns);
                timeline_unlock(machine, i);
        }
}

void timeline_move(struct machine *machine, unsigned index, uint64_t until_ns)
{
        struct machine_unit *unit = machine_unit(machine, index);

        sources_move(machine, unit, until_ns);
        while (unit->clock_ns < until_ns)
                unit_step(machine, unit, until_ns);
        active_clear(machine, unit);
}
