/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has submitted to a device and not settled: said in its slot while it lives, so that
 * whoever reaps it can charge the container.
 *
 * One word says since when the device may have worked for it and how much of that was charged in
 * advance; another when it was last seen at work. Nothing says when it died, but that it did before it
 * would have looked again: half of that time is charged.
 */
#pragma once

#include <stdint.h>

#include "region_layout.h"

/* How long work of this age goes unobserved at most. */
uint64_t region_pending_interval_ns(uint64_t age_ns);

/* The process's own: replaces what it said before. `since_ns` 0: all is settled. */
void region_pending_note(struct region_slot *slot, unsigned device, uint64_t since_ns,
                         uint64_t charged_ns, uint64_t seen_ns);

/* For the one who reaps the slot: charges what the process left, once. */
void region_pending_charge(struct region_file *file, struct region_slot *slot, uint64_t now_ns);
