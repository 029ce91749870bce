/* The gate of turns: may this process submit work to the device now, or is it another container's
 * turn? Without pages of the container (no share, or none that anybody arbitrates) always. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does the account's device have turns? Opens its pages the first time. */
bool gate_turn_is_kept(unsigned account);

/* May work that is done by then be submitted? False: end the turn, begin another. */
bool gate_turn_is_on(unsigned account, uint64_t done_ns);
bool gate_turn_has_begun(unsigned account);
/* Idle for longer, the turn is better given to others: where memory changes hands with it, not before
 * that has paid. */
uint64_t gate_turn_idle_ns(unsigned account);
/* Does another container wait for the device? */
bool gate_turn_is_wanted(unsigned account);

/* Waits for a turn; several threads may. True: others had the device, and memory is short: what the
 * work touches should be brought back onto it. */
bool gate_turn_begin(unsigned account);
/* Nothing of this process is on the device. `wants_more`: it asks for the next turn at once. */
void gate_turn_end(unsigned account, bool wants_more);

/* True: the turn did not end in time, and the arbiter has given us up: there are no more turns, until
 * it says otherwise. The turn counts as ended, whatever is on the device. */
bool gate_turn_is_given_up(unsigned account);

/* Sleeps until the arbiter has something to say, or so long. */
void gate_turn_wait_word(unsigned account, uint64_t most_ns);

/* What may be submitted and not done; `default_ns` if nobody says. */
uint64_t gate_turn_in_flight_ns(unsigned account, uint64_t default_ns);
/* A sign of life: what is submitted and not done. */
void gate_turn_note(unsigned account, uint64_t in_flight_ns);

/* In a forked child, which has a lane of its own. */
void gate_turn_forked(void);
