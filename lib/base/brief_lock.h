/* brief_lock: for a few dozen instructions among the threads of one process.
 *
 * Given back by a plain store: nobody is woken, those who wait look again. That saves a locked
 * instruction per turn over a lock with a queue. A holder may be off its core meanwhile, so the
 * others look a few times and then sleep a little, whatever their priorities. */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct brief_lock {
        _Atomic unsigned is_held;
};

static inline void brief_lock_wait(struct brief_lock *lock)
{
        const struct timespec nap = { .tv_nsec = 20000 };
        int saved_errno = errno;

        for (unsigned looks = 1; atomic_load_explicit(&lock->is_held, memory_order_relaxed);
             looks++)
                if (looks % 256 == 0)
                        syscall(SYS_nanosleep, &nap, NULL); /* no point of cancellation */
        errno = saved_errno;
}

static inline void brief_lock_take(struct brief_lock *lock)
{
        while (__builtin_expect(atomic_exchange_explicit(&lock->is_held, 1, memory_order_acquire),
                                0))
                brief_lock_wait(lock);
}

static inline void brief_lock_give(struct brief_lock *lock)
{
        atomic_store_explicit(&lock->is_held, 0, memory_order_release);
}
