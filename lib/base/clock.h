/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the time that only goes forward. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

static inline uint64_t clock_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* What this thread has spent on a core. */
static inline uint64_t clock_spent_ns(void)
{
        struct timespec spent;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
        return (uint64_t)spent.tv_sec * NS_PER_S + (uint64_t)spent.tv_nsec;
}

/* The same, a few milliseconds old, in a quarter of the time. */
static inline uint64_t clock_about_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
