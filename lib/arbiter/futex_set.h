/* SPDX-License-Identifier: Apache-2.0 */
/* futex_set: sleeps until one of many futex words changes, none of which is ours. */
#pragma once

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        FUTEX_SET_MOST = 2049,
        FUTEX_SET_KERNEL_MOST = 128, /* what the kernel takes in one call */
};

struct futex_entry {
        const _Atomic uint32_t *word;
        uint32_t seen;
};

static inline struct futex_waitv futex_entry_waitv(const struct futex_entry *entry)
{
        return (struct futex_waitv){ .val = entry->seen,
                                     .uaddr = (uint64_t)(uintptr_t)entry->word,
                                     .flags = FUTEX_32 };
}

/* Returns when a word is no longer as seen, or at that time (clock_now_ns()). One thread calls it. For
 * words beyond what the kernel takes in one call, threads wait (futex_relay.h); where it cannot wait for several at
 * once (before 5.16), one waits for each. */
void futex_set_wait(const struct futex_entry *entries, unsigned count, uint64_t until_ns);
/* Before a word's mapping goes. */
void futex_set_forget(const _Atomic uint32_t *word);

/* Threads, whatever the kernel can do: for tests. */
void futex_set_use_threads(bool is_on);
