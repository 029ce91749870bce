/* SPDX-License-Identifier: Apache-2.0 */
/* The compute gate: may the container give this device more work now? One debt for all of its
 * processes, in the region they share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is the device limited now? */
bool gate_compute_is_limited(unsigned device_index);

/* Charges the work and answers 0 if it may start now. Otherwise charges nothing, and the answer is
 * how many nanoseconds to wait at least before asking again. */
uint64_t gate_compute_ask(unsigned device_index, uint64_t work_ns);

/* Corrects an earlier charge: the work took longer (> 0) or shorter. Never waits. */
void gate_compute_correct(unsigned device_index, int64_t work_ns);

/* How much work may be submitted and not done, as far as the limit goes. */
uint64_t gate_compute_in_flight_ns(unsigned device_index);

/* The device worked for this process between these times (CLOCK_MONOTONIC); what no other process of
 * the container had said before is its answer and counts as used. */
uint64_t gate_compute_used(unsigned device_index, uint64_t begin_ns, uint64_t end_ns);

/* The process has work of so much that was charged, since then, and it was not done just now: for whoever
 * charges the container if the process dies. 0: nothing. */
void gate_compute_pending(unsigned device_index, uint64_t since_ns, uint64_t charged_ns);

/* What a kind of work takes, as other processes of the container have learned it; 0: nobody has. */
uint64_t gate_compute_cost(uint64_t key);
/* Tells them; of key 0 nothing. */
void gate_compute_learned(uint64_t key, uint64_t ns);

/* A piece of work that cannot be divided takes so long. */
void gate_compute_saw(unsigned device_index, uint64_t work_ns);

/* Sleeps so long, or until somebody's correction or a new limit is worth another query. is_owed: it is the limit that
 * the thread waits for, and not its own work. */
void gate_compute_wait(unsigned device_index, uint64_t wait_ns, bool is_owed);

/* Percent of the last second that the device worked for the container. */
double gate_compute_load_percent(unsigned device_index);
