/* SPDX-License-Identifier: Apache-2.0 */
/* A lock of one process: small, no start-up, nothing of newer C libraries. A process that dies takes
 * it along. */
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

struct lock {
        _Atomic unsigned word; /* 0 free, 1 held, 2 held and waited for */
};

static inline void lock_take(struct lock *lock)
{
        unsigned seen = 0;

        if (__builtin_expect(atomic_compare_exchange_strong_explicit(&lock->word, &seen, 1,
                                                                     memory_order_acquire,
                                                                     memory_order_relaxed),
                             1))
                return;
        const int saved_errno = errno; /* the program's */
        while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
                syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        errno = saved_errno;
}

static inline bool lock_try(struct lock *lock)
{
        unsigned seen = 0;

        return atomic_compare_exchange_strong_explicit(&lock->word, &seen, 1, memory_order_acquire,
                                                       memory_order_relaxed);
}

static inline void lock_give(struct lock *lock)
{
        if (__builtin_expect(atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2,
                             0))
                syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
