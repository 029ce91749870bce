/* SPDX-License-Identifier: Apache-2.0 */
/* futex: sleep until a word that processes share changes. */
#pragma once

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns at once if the word is no longer `seen`; may return early, so that the caller looks again.
 * `timeout_ns` is a span of time. The word may lie in a read-only mapping. errno is not kept. */
static inline void futex_wait(const _Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
        const struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
                                          .tv_nsec = (long)(timeout_ns % 1000000000u) };

        syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
        syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* The word only counts: it changes, and all who wait for a change look. */
static inline void futex_ring(_Atomic uint32_t *word)
{
        atomic_fetch_add(word, 1);
        futex_wake_all(word);
}
