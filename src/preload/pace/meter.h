/* SPDX-License-Identifier: Apache-2.0 */
/* meter: what a device did for this process, by events between its work.
 *
 * Work is measured in segments: what one thread submits to one stream between two measurements. A segment
 * ends with an event; it began when its first work was submitted, or where an event before it says.
 * The device cannot have been idle once the last work of a segment was submitted, and before that it
 * cannot have been busy for longer than what was submitted takes: so a program that pauses within a
 * segment is not charged for its pauses. Spans of all streams are united, so that nothing counts
 * twice. Events tell the device's time; what a freshly recorded event on an idle stream tells gives
 * the difference to the host's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "devices.h"
#include "segment.h"

/* Called in a state that captures of other streams do not forbid; gives back what was before. */
CUstreamCaptureMode meter_relax(void);
void meter_restore(CUstreamCaptureMode mode);

/* Begins a segment. {0}: it cannot be measured. */
struct segment_ref meter_open(const struct target *target, CUstream stream);

void meter_close(struct segment_ref ref, CUstream stream, const struct segment_end *end);
/* Nothing of it will be known: what was charged for it stands. */
void meter_drop(struct segment_ref ref);
/* The context it is in; 0: it is over. */
uint64_t meter_context(struct segment_ref ref);

/* Settles what is done: the container's debt is corrected, costs are learned. */
void meter_harvest(unsigned device_index);
/* Is anything unsettled, or about to be submitted, on any device? */
static inline bool meter_has_work(void)
{
        return __builtin_expect(atomic_load_explicit(&segment_live, memory_order_relaxed) != 0, 0);
}

/* What has been submitted on all devices and is not known to be done. */
struct outstanding {
        uint64_t age_ns;   /* of the oldest; 0: there is none */
        bool is_harvested; /* besides, on devices that others have looked at since the last time */
};
/* Settles what is done on the devices that nobody has looked at since the last time; what is left. For
 * one thread of our own. */
struct outstanding meter_harvest_remainder(void);

/* Work of this process that is measured and not done yet. */
struct backlog {
        uint64_t planned_ns;
        CUstream oldest; /* whose end is awaited first */
        uint64_t due_ns; /* when all of it should be done */
        bool is_guess;   /* some of it takes nobody knows how long */
        bool is_single;  /* one piece, or several that were measured together */
};
struct backlog meter_backlog(unsigned device_index);

/* Roughly how long the device still works for this process, also on what threads have not measured yet;
 * 0: not at all. For a thread of our own, which has no context. */
uint64_t meter_left_ns(unsigned device_index);

/* Before a context ends, or may: waits a while for its work and settles it. From here on its events
 * are not touched. */
void meter_context_ends(uint64_t context);
/* Afterwards. What had not been done before was done by now, or went with the context; where it did
 * not end, all is as before. */
void meter_context_ended(uint64_t context, bool is_gone);
/* In a forked child: nothing is measured, nobody holds a lock. */
void meter_forked(void);
