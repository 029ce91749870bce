/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of time slices: may this process submit work to the device now, or has another container the
 * time slice? Without pages of the container (no share, or none that anybody arbitrates) always. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does the device have time slices? Opens its pages the first time. */
bool gate_timeslice_applies(unsigned device_index);

/* May work that is done by then be submitted? False: end the time slice, begin another. */
bool gate_timeslice_is_on(unsigned device_index, uint64_t done_ns);
bool gate_timeslice_has_begun(unsigned device_index);
/* Time slices begun so far: names one. Whoever ends one ends the one it has judged, and not the next. */
uint32_t gate_timeslice_count(unsigned device_index);
/* Idle for longer, the time slice is better given to others: where memory changes hands with it, not before
 * that has paid. */
uint64_t gate_timeslice_idle_ns(unsigned device_index);
/* The longest piece of work that the container was seen to submit. */
uint64_t gate_timeslice_longest_ns(unsigned device_index);
/* Does another container wait for the device? */
bool gate_timeslice_is_wanted(unsigned device_index);

/* Waits for a time slice; several threads may. What the container could not use meanwhile is kept for it.
 * True: others had the device, and memory is short: what the work touches should be brought back onto it. */
bool gate_timeslice_begin(unsigned device_index);
/* Nothing more may be submitted in this time slice. `is_end_known`: when what was is done has been noted,
 * and others may get ready for then. */
void gate_timeslice_drain(unsigned device_index, uint32_t count, bool is_end_known);
bool gate_timeslice_is_draining(unsigned device_index, uint32_t count);
/* How long the container cannot submit anything for what it owes. */
uint64_t gate_timeslice_owed_ns(unsigned device_index);
/* Nothing of this process is on the device. `wants_more`: it asks for the next one at once. */
void gate_timeslice_end(unsigned device_index, uint32_t count, bool wants_more);

/* True: the time slice did not end in time, and the arbiter has given us up: there are no more of them, until
 * it says otherwise. It counts as ended, whatever is on the device. */
bool gate_timeslice_is_given_up(unsigned device_index);

/* Sleeps until the arbiter changes the grant, or so long. */
void gate_timeslice_wait_grant(unsigned device_index, uint64_t most_ns);

/* What may be submitted and not done; `default_ns` if nobody says. */
uint64_t gate_timeslice_in_flight_ns(unsigned device_index, uint64_t default_ns);
/* A sign of life: when what is submitted should be done; 0: nothing is. */
void gate_timeslice_note(unsigned device_index, uint64_t done_ns);

/* The container holds more or less memory that can move: the arbiter hears of it, even where nobody takes time
 * slices yet. */
void gate_timeslice_tell_memory(unsigned device_index);
/* What could be pushed off the device of other containers' memory; 0 where nobody knows. */
uint64_t gate_timeslice_others_bytes(unsigned device_index);

/* In a forked child, which has a process slot of its own. */
void gate_timeslice_forked(void);
