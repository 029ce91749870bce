/* bells: sleep until one of many words changes, none of which is in our hands. */
#pragma once

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        BELLS_MOST = 2049,
        BELLS_KERNEL_MOST = 128, /* what the kernel takes in one call */
};

struct bell {
        const _Atomic uint32_t *word;
        uint32_t seen;
};

static inline struct futex_waitv bell_waitv(const struct bell *bell)
{
        return (struct futex_waitv){ .val = bell->seen,
                                     .uaddr = (uint64_t)(uintptr_t)bell->word,
                                     .flags = FUTEX_32 };
}

/* Returns when a word is no longer as seen, or at that time (clock_now_ns()). One thread calls it. For
 * words beyond what the kernel takes in one call, threads wait (ringer.h); where it cannot wait for several at
 * once (before 5.16), one waits for each. */
void bells_wait(const struct bell *bells, unsigned count, uint64_t until_ns);
/* Before a word's mapping goes. */
void bells_forget(const _Atomic uint32_t *word);

/* Threads, whatever the kernel can do: for tests. */
void bells_use_threads(bool is_on);
