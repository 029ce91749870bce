/* SPDX-License-Identifier: Apache-2.0 */
/* The time axis of a unit: work that processes submit, and when it runs.
 *
 * Each process has a channel per unit with one queue per engine. Nobody "runs" the GPU: whoever
 * reads it moves the unit's clock up to now by the same rules, so that work goes on while its process
 * has no CPU. An engine serves one process at a time, slice_ns each, round robin among those that
 * have work which is ready; within a process, the first ready operation in order of submission. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

/* Names an operation of one's own process: channel, engine, sequence number. 0: nothing. */
typedef uint64_t machine_ref;

struct timeline_op {
        enum machine_engine engine;
        uint64_t delay_ns;              /* launch latency: not before now + this */
        uint64_t duration_ns;           /* MACHINE_NS_UNKNOWN: timeline_set_duration() follows */
        machine_ref deps[MACHINE_DEPS]; /* 0: none */
};

/* The channel of the slot on this unit, made on first use. -ENOSPC: no channel, or no space. */
int timeline_channel(struct machine *machine, struct machine_slot *slot, unsigned unit,
                     uint32_t *ret_channel);

/* Adds an operation. One thread at a time per channel (the caller's lock). Waits while the queue is
 * full. -ENODEV: the GPU is gone. */
int timeline_submit(struct machine *machine, uint32_t channel, const struct timeline_op *op,
                    machine_ref *ret_ref);

void timeline_set_duration(struct machine *machine, machine_ref ref, uint64_t duration_ns);
/* Ends a HOST operation, now. */
void timeline_end_host(struct machine *machine, machine_ref ref);
/* True when a HOST operation's predecessors are complete. */
bool timeline_host_is_due(struct machine *machine, machine_ref ref);

/* Done already, without moving any clock: cheap, and never wrong when true. */
bool timeline_was_done(struct machine *machine, machine_ref ref);
/* Real nanoseconds before which it cannot be done: how long to sleep before asking again. */
uint64_t timeline_left_ns(struct machine *machine, machine_ref ref);
bool timeline_is_done(struct machine *machine, machine_ref ref);
/* Sleeps until it is done. -ENODEV: the GPU was lost. */
int timeline_wait(struct machine *machine, machine_ref ref);
/* When it ended; 0 if it has not, or its entry in the ring was used again. */
uint64_t timeline_end_ns(struct machine *machine, machine_ref ref);
/* True when the next submission will not wait. Costs two loads. */
bool timeline_has_capacity(struct machine *machine, uint32_t channel, enum machine_engine engine);
/* Waits until the queue has space for one more: timeline_submit() will not wait then. */
int timeline_wait_capacity(struct machine *machine, uint32_t channel, enum machine_engine engine);
/* The operation whose entry the next submission takes, 0: none. It is complete once there is space:
 * the last chance to read its end. */
machine_ref timeline_victim(struct machine *machine, uint32_t channel, enum machine_engine engine);

/* Moves the unit's clock up to now. */
void timeline_advance(struct machine *machine, unsigned unit);

/* Busy share of the compute engine over the last `window_ns`, 0…1, of the unit or of one channel. */
double timeline_unit_load(struct machine *machine, unsigned unit, enum machine_engine engine,
                          uint64_t window_ns);
double timeline_channel_load(struct machine *machine, uint32_t channel, uint64_t window_ns);
/* The same of a history that was copied, up to `now_ns` of the machine's time. */
double timeline_buckets_load(const struct machine_bucket *buckets, uint64_t now_ns,
                             uint64_t window_ns);
