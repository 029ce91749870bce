/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of the time axis: submitting work, waiting for it, asking about it. */
#include "timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "slot.h"
#include "timeline_internal.h"

enum {
        SPIN_NS = 60000,  /* shorter waits cost more asleep than awake */
        NAP_NS = 5000000, /* longest sleep: others' doings change when we are done */
        UNKNOWN_NAP_NS = 100000,
};

static void channel_reset(struct machine_channel *channel, uint32_t unit)
{
        channel->unit = unit;
        for (unsigned i = 0; i < MACHINE_UNITS / 64; i++)
                channel->sources[i] = 0;
        memset(channel->busy_ns, 0, sizeof channel->busy_ns);
        memset(channel->buckets, 0, sizeof channel->buckets);
        for (unsigned i = 0; i < ENGINE_COUNT; i++) {
                channel->queues[i].head = 0;
                channel->queues[i].tail = 0;
        }
}

static int channel_take(struct machine *machine, uint32_t slot, uint32_t unit,
                        uint32_t *ret_channel)
{
        struct machine_file *file = machine->file;
        uint32_t high = atomic_load(&file->header.channels_high);
        uint32_t i = 0;

        while (i < high && atomic_load(&file->channels[i].slot))
                i++;
        if (i == MACHINE_CHANNELS)
                return -ENOSPC;
        struct machine_channel *channel = &file->channels[i];
        off_t offset = (off_t)((char *)channel - (char *)file);
        int r = posix_fallocate(machine->fd, offset, (off_t)sizeof *channel);
        if (r)
                return -r;
        channel_reset(channel, unit);
        atomic_store(&channel->slot, slot + 1);
        if (i == high)
                atomic_store(&file->header.channels_high, high + 1);
        *ret_channel = i;
        return 0;
}

int timeline_channel(struct machine *machine, struct machine_slot *slot, unsigned unit,
                     uint32_t *ret_channel)
{
        uint32_t channel;
        int r = 0;

        machine_lock(&machine->file->header.lock);
        if (slot->units[unit].channel) {
                channel = slot->units[unit].channel - 1;
        } else {
                r = channel_take(machine, slot_index(machine, slot), unit, &channel);
                if (r == 0)
                        slot->units[unit].channel = channel + 1;
        }
        machine_unlock(&machine->file->header.lock);
        if (r == 0)
                *ret_channel = channel;
        return r;
}

static unsigned ref_unit(const struct machine *machine, machine_ref ref)
{
        return machine->file->channels[ref_channel(ref)].unit;
}

static bool unit_is_lost(const struct machine *machine, unsigned unit)
{
        return atomic_load_explicit(
                &machine_gpu(machine, machine_unit(machine, unit)->gpu)->is_lost,
                memory_order_relaxed);
}

machine_ref timeline_victim(struct machine *machine, uint32_t channel, enum machine_engine engine)
{
        uint64_t tail = atomic_load_explicit(&machine->file->channels[channel].queues[engine].tail,
                                             memory_order_relaxed);

        return tail >= MACHINE_RING ? ref_make(channel, engine, tail - MACHINE_RING) : 0;
}

bool timeline_has_capacity(struct machine *machine, uint32_t channel, enum machine_engine engine)
{
        const struct machine_queue *queue = &machine->file->channels[channel].queues[engine];

        return atomic_load_explicit(&queue->tail, memory_order_relaxed) -
                       atomic_load_explicit(&queue->head, memory_order_acquire) <
               MACHINE_RING;
}

/* The same reference, but meaning: it and all before it in its queue. */
static machine_ref all_before(machine_ref ref)
{
        return ref ? ref | REF_ALL : 0;
}

int timeline_wait_capacity(struct machine *machine, uint32_t channel, enum machine_engine engine)
{
        machine_ref victim = timeline_victim(machine, channel, engine);

        if (!victim)
                return 0;
        return timeline_wait(machine, all_before(victim));
}

/* Remembers which other clocks the channel's work depends on. */
static void channel_add_sources(struct machine *machine, struct machine_channel *channel,
                                const machine_ref deps[MACHINE_DEPS])
{
        for (unsigned i = 0; i < MACHINE_DEPS && deps[i]; i++) {
                unsigned unit = machine->file->channels[ref_channel(deps[i])].unit;
                uint64_t bit = UINT64_C(1) << unit % 64;
                if (unit != channel->unit && !(atomic_load(&channel->sources[unit / 64]) & bit))
                        atomic_fetch_or(&channel->sources[unit / 64], bit);
        }
}

int timeline_submit(struct machine *machine, uint32_t channel, const struct timeline_op *op,
                    machine_ref *ret_ref)
{
        struct machine_channel *c = &machine->file->channels[channel];
        struct machine_queue *queue = &c->queues[op->engine];

        int r = timeline_wait_capacity(machine, channel, op->engine);
        if (r < 0)
                return r;

        uint64_t sequence = atomic_load_explicit(&queue->tail, memory_order_relaxed);
        struct machine_op *entry = queue_op(queue, sequence);
        entry->ready_ns = machine_now_ns(machine) + op->delay_ns;
        entry->start_ns = 0;
        memcpy(entry->deps, op->deps, sizeof entry->deps);
        channel_add_sources(machine, c, op->deps);
        atomic_store_explicit(&entry->remaining_ns, op->duration_ns, memory_order_relaxed);
        atomic_store_explicit(&entry->end_ns, 0, memory_order_relaxed);
        atomic_store_explicit(&queue->tail, sequence + 1, memory_order_seq_cst);

        _Atomic uint64_t *active = &machine_unit(machine, c->unit)->active[channel / 64];
        uint64_t bit = UINT64_C(1) << channel % 64;
        if (!(atomic_load_explicit(active, memory_order_seq_cst) & bit))
                atomic_fetch_or(active, bit);
        *ret_ref = ref_make(channel, op->engine, sequence);
        return 0;
}

void timeline_set_duration(struct machine *machine, machine_ref ref, uint64_t duration_ns)
{
        struct machine_op *op = queue_op(ref_queue(machine, ref), ref & REF_SEQUENCE);

        atomic_store_explicit(&op->remaining_ns, duration_ns, memory_order_release);
}

void timeline_end_host(struct machine *machine, machine_ref ref)
{
        struct machine_queue *queue = ref_queue(machine, ref);
        unsigned unit = ref_unit(machine, ref);

        timeline_lock(machine, unit);
        uint64_t now_ns = machine_now_ns(machine);
        timeline_move(machine, unit, now_ns);
        atomic_store(&queue_op(queue, ref & REF_SEQUENCE)->end_ns, now_ns);
        /* Killed in here, the process takes its queue along: nothing to journal. */
        uint64_t head = atomic_load(&queue->head);
        while (head < atomic_load(&queue->tail) && atomic_load(&queue_op(queue, head)->end_ns))
                head++;
        atomic_store(&queue->head, head);
        timeline_unlock(machine, unit);
}

void timeline_advance(struct machine *machine, unsigned unit)
{
        timeline_lock(machine, unit);
        timeline_move(machine, unit, machine_now_ns(machine));
        timeline_unlock(machine, unit);
}

static bool ref_is_due(const struct machine *machine, machine_ref ref)
{
        return queue_op(ref_queue(machine, ref), ref & REF_SEQUENCE)->start_ns != 0;
}

bool timeline_was_done(struct machine *machine, machine_ref ref)
{
        return !ref || ref_is_done(machine, ref, UINT64_MAX);
}

bool timeline_is_done(struct machine *machine, machine_ref ref)
{
        if (!ref || ref_is_done(machine, ref, UINT64_MAX))
                return true;
        timeline_advance(machine, ref_unit(machine, ref));
        return ref_is_done(machine, ref, UINT64_MAX);
}

bool timeline_host_is_due(struct machine *machine, machine_ref ref)
{
        if (!ref_is_due(machine, ref))
                timeline_advance(machine, ref_unit(machine, ref));
        return ref_is_due(machine, ref);
}

uint64_t timeline_end_ns(struct machine *machine, machine_ref ref)
{
        struct machine_queue *queue = ref_queue(machine, ref);
        uint64_t sequence = ref & REF_SEQUENCE;

        if (!ref || atomic_load(&queue->tail) > sequence + MACHINE_RING)
                return 0;
        return atomic_load(&queue_op(queue, sequence)->end_ns);
}

/* A lower bound, in simulated time, of how long until the operation completes: what is left of it
 * and of those before it in its queue, and of what they wait for. */
static uint64_t ref_left_ns(const struct machine *machine, machine_ref ref, uint64_t now_ns,
                            unsigned depth)
{
        struct machine_queue *queue = ref_queue(machine, ref);
        uint64_t sequence = ref & REF_SEQUENCE, sum = 0, after = 0;

        for (uint64_t i = atomic_load(&queue->head); i <= sequence; i++) {
                const struct machine_op *op = queue_op(queue, i);
                uint64_t left = atomic_load(&op->remaining_ns);
                if (atomic_load(&op->end_ns))
                        continue;
                if (left == MACHINE_NS_UNKNOWN)
                        return UNKNOWN_NAP_NS;
                sum += left;
                if (op->ready_ns > now_ns && op->ready_ns - now_ns > after)
                        after = op->ready_ns - now_ns;
        }
        const struct machine_op *last = queue_op(queue, sequence);
        for (unsigned i = 0; i < MACHINE_DEPS && last->deps[i] && depth; i++) {
                if (ref_is_done(machine, last->deps[i], now_ns))
                        continue;
                uint64_t left = ref_left_ns(machine, last->deps[i], now_ns, depth - 1);
                if (left > after)
                        after = left;
        }
        /* What it waits for may run beside those before it. */
        return sum > after ? sum : after + atomic_load(&last->remaining_ns);
}

uint64_t timeline_left_ns(struct machine *machine, machine_ref ref)
{
        unsigned unit = ref_unit(machine, ref);

        timeline_lock(machine, unit);
        uint64_t now_ns = machine_now_ns(machine);
        timeline_move(machine, unit, now_ns);
        uint64_t left_ns =
                ref_is_done(machine, ref, UINT64_MAX) ? 0 : ref_left_ns(machine, ref, now_ns, 3);
        timeline_unlock(machine, unit);
        return machine_real_ns(machine, left_ns);
}

static void nap(uint64_t real_ns)
{
        if (real_ns > SPIN_NS) {
                struct timespec span = { .tv_nsec = (long)(real_ns > NAP_NS ? NAP_NS - SPIN_NS
                                                                            : real_ns - SPIN_NS) };
                nanosleep(&span, NULL);
        } else {
                sched_yield();
        }
}

static int ref_wait(struct machine *machine, machine_ref ref)
{
        unsigned unit = ref_unit(machine, ref);

        for (;;) {
                timeline_lock(machine, unit);
                uint64_t now_ns = machine_now_ns(machine);
                timeline_move(machine, unit, now_ns);
                bool is_done = ref_is_done(machine, ref, UINT64_MAX);
                uint64_t left_ns = is_done ? 0 : ref_left_ns(machine, ref, now_ns, 3);
                timeline_unlock(machine, unit);
                if (is_done)
                        return 0;
                if (unit_is_lost(machine, unit))
                        return -ENODEV;
                nap(machine_real_ns(machine, left_ns));
        }
}

int timeline_wait(struct machine *machine, machine_ref ref)
{
        if (!ref || ref_is_done(machine, ref, UINT64_MAX))
                return 0;
        return ref_wait(machine, ref);
}

double timeline_buckets_load(const struct machine_bucket *buckets, uint64_t now_ns,
                             uint64_t window_ns)
{
        uint64_t last = now_ns / MACHINE_BUCKET_NS;
        uint64_t count = window_ns / MACHINE_BUCKET_NS;
        uint64_t busy_ns = 0;

        if (count == 0)
                count = 1;
        if (count > MACHINE_BUCKETS - 2)
                count = MACHINE_BUCKETS - 2;
        if (count > last)
                count = last ? last : 1;
        for (uint64_t i = 1; i <= count && i <= last; i++) {
                const struct machine_bucket *bucket = &buckets[(last - i) % MACHINE_BUCKETS];
                if (bucket->index == last - i)
                        busy_ns += bucket->busy_ns;
        }
        return (double)busy_ns / (double)(count * MACHINE_BUCKET_NS);
}

double timeline_unit_load(struct machine *machine, unsigned index, enum machine_engine engine,
                          uint64_t window_ns)
{
        struct machine_unit *unit = machine_unit(machine, index);

        timeline_lock(machine, index);
        timeline_move(machine, index, machine_now_ns(machine));
        double load =
                timeline_buckets_load(unit->engines[engine].buckets, unit->clock_ns, window_ns);
        timeline_unlock(machine, index);
        return load;
}

double timeline_channel_load(struct machine *machine, uint32_t channel, uint64_t window_ns)
{
        unsigned index = machine->file->channels[channel].unit;

        timeline_lock(machine, index);
        timeline_move(machine, index, machine_now_ns(machine));
        double load = timeline_buckets_load(machine->file->channels[channel].buckets,
                                            machine_unit(machine, index)->clock_ns, window_ns);
        timeline_unlock(machine, index);
        return load;
}
