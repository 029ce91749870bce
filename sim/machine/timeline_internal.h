/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the time axis share: queues (timeline.c) and clock (timeline_clock.c). */
#pragma once

#include "timeline.h"

#define REF_VALID    (UINT64_C(1) << 63)
#define REF_ALL      (UINT64_C(1) << 62) /* the operation and all before it in its queue */
#define REF_SEQUENCE ((UINT64_C(1) << 46) - 1)
static_assert(MACHINE_CHANNELS <= 1 << 14, "14 bits of a reference");
static_assert(ENGINE_COUNT <= 4, "2 bits of a reference");

static inline machine_ref ref_make(uint32_t channel, enum machine_engine engine, uint64_t sequence)
{
        return REF_VALID | (uint64_t)channel << 48 | (uint64_t)engine << 46 | sequence;
}

static inline uint32_t ref_channel(machine_ref ref)
{
        return (uint32_t)(ref >> 48) & 0x3fff;
}

static inline enum machine_engine ref_engine(machine_ref ref)
{
        return (enum machine_engine)(ref >> 46 & 3);
}

static inline struct machine_queue *ref_queue(const struct machine *machine, machine_ref ref)
{
        return &machine->file->channels[ref_channel(ref)].queues[ref_engine(ref)];
}

static inline struct machine_op *queue_op(struct machine_queue *queue, uint64_t sequence)
{
        return &queue->ops[sequence % MACHINE_RING];
}

/* Complete at the time `at_ns`? */
bool ref_is_done(const struct machine *machine, machine_ref ref, uint64_t at_ns);

/* Takes the unit's time lock; finishes the step of an owner that died in it. */
void timeline_lock(struct machine *machine, unsigned unit);
void timeline_unlock(struct machine *machine, unsigned unit);
/* Moves the clock to `until_ns`. The caller holds the lock. */
void timeline_move(struct machine *machine, unsigned unit, uint64_t until_ns);
