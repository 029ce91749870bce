/* ticks: the processor's own counter, read in a third of the time that the clock takes; its rate is
 * not known, only that it is between 1 and some 5 per nanosecond. For "certainly not yet": whoever
 * needs to know the time reads the clock. Always 0 where there is no such counter. */
#pragma once

#include <stdint.h>

#ifdef __x86_64__
static inline uint64_t ticks_now(void)
{
        return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t ticks_now(void)
{
        return 0;
}
#endif
