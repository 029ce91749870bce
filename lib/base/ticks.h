/* SPDX-License-Identifier: Apache-2.0 */
/* ticks: the processor's own counter, read in a third of the time that the clock takes. For "certainly not
 * yet": whoever needs to know the time reads the clock.
 *
 * x86-64's is a few per nanosecond; its rate is not known. arm64's is the generic timer, which no sleep of
 * the processor stops, at the rate that it tells itself: 1 GHz on Grace, some 31 MHz on a Jetson. A kernel
 * that works around a faulty timer traps the read and answers it: slower, and right. */
#pragma once

#include <stdint.h>

#if defined(__x86_64__)
/* 0: there is no counter. */
static inline uint64_t ticks_now(void)
{
        return __builtin_ia32_rdtsc();
}

/* The least there is. */
static inline uint64_t ticks_hz(void)
{
        return 1000000000;
}
#elif defined(__aarch64__)
static inline uint64_t ticks_now(void)
{
        uint64_t ticks;

        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
}

/* Written by firmware; 0 where that forgot to. */
static inline uint64_t ticks_hz(void)
{
        uint64_t hz;

        __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
        return hz & UINT32_MAX;
}
#else
static inline uint64_t ticks_now(void)
{
        return 0;
}

static inline uint64_t ticks_hz(void)
{
        return 0;
}
#endif

/* How many pass in so long, or in less; 0 where the rate is not known. */
static inline uint64_t ticks_in_us(uint64_t microseconds, uint64_t hz)
{
        return microseconds * hz / 1000000;
}
