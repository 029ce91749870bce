/* SPDX-License-Identifier: Apache-2.0 */
/* GPU time of a container on one device: what it owes, what it used, and when.
 *
 * The debt is one word, {the time at which all is paid, the rate at which it is paid}, so that a
 * process may be killed at any instruction: an operation happened or did not. Work of c nanoseconds
 * at a rate of 30 % moves the time c / 0.3 further on; a container may start work when that time has
 * come. A time that has passed is credit, up to a depth. When the rate changes, whoever touches the
 * word next converts what is left of debt or credit to the new one, once.
 *
 * What was used is kept for two seconds, in steps of 10 µs: each step counts once, however many processes
 * say that they had the device in it. So is, in steps of 100 µs, when threads waited for the limit. Times are
 * CLOCK_MONOTONIC. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region_layout.h"

enum { COMPUTE_WHOLE = 1000 }; /* rates are in thousandths of the device */

struct compute_rate {
        uint32_t permille; /* 1 … COMPUTE_WHOLE */
        uint64_t depth_ns; /* GPU time that may be saved up */
        /* Until then this much wall time more: see region_compute_keep(). */
        uint64_t kept_until_ns, kept_wall_ns;
};

/* 40 ms of the rate, at least two quanta and the longest piece of work seen: less would forget what a
 * container had to leave unused while it waited for its time slice, or for a core of a busy host. */
struct compute_rate region_compute_rate(const struct region_compute *compute, uint32_t permille);

/* Nanoseconds until work may start; 0: now. */
uint64_t region_compute_owed_ns(const struct region_compute *compute, struct compute_rate rate,
                                uint64_t now_ns);
/* Charges the work if it may start now: one step, atomic between processes. Otherwise nothing is
 * charged, and the answer is how long to wait at least. */
uint64_t region_compute_take(struct region_compute *compute, struct compute_rate rate,
                             uint64_t now_ns, uint64_t work_ns);
/* The share says that the container may have so much. Where that is more than it said before, what was
 * owed under the old limit delays nobody for longer than a moment. What a process of the container
 * takes away from itself is another thing: it cannot be given back by another. */
void region_compute_forgive(struct region_compute *compute, uint32_t permille, uint64_t now_ns);
/* Corrects what was charged, either way. True: waiting processes may start earlier than they think. */
bool region_compute_correct(struct region_compute *compute, struct compute_rate rate,
                            uint64_t now_ns, int64_t work_ns);

/* Charges work that was done by then, at the rate of the last charge: for those who know no limit. */
void region_compute_add(struct region_compute *compute, uint64_t at_ns, uint64_t work_ns);
/* The container wanted the device for the last `waited_ns`, and others had it: what it earned meanwhile
 * is not lost if that is more than the depth. Forgotten after a few such waits, so that whoever does
 * not use it does not save it up. */
void region_compute_keep(struct region_compute *compute, uint64_t now_ns, uint64_t waited_ns);

/* The device worked for the container from begin to end: the part that no process had said before. */
uint64_t region_compute_cover(struct region_compute *compute, uint64_t begin_ns, uint64_t end_ns);
/* A piece of work this long was seen. */
void region_compute_saw(struct region_compute *compute, uint64_t work_ns);

/* Nanoseconds of GPU time in about the last `window_ms` milliseconds, at most 1900. */
uint64_t region_compute_used_ns(const struct region_compute *compute, uint64_t now_ns,
                                unsigned window_ms);

/* A thread waited for the limit from begin to end: the part in which no other had said that it did. */
uint64_t region_compute_throttle(struct region_compute *compute, uint64_t begin_ns,
                                 uint64_t end_ns);
/* Nanoseconds of about the last `window_ms` milliseconds, at most 1900, in which a thread waited for the limit. Waits
 * are said in pieces: the window ends so long ago that all of them have been. */
uint64_t region_compute_throttled_ns(const struct region_compute *compute, uint64_t now_ns,
                                     unsigned window_ms);
