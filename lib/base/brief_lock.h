/* SPDX-License-Identifier: Apache-2.0 */
/* brief_lock: for a few dozen instructions among the threads of one process. Not to be nested.
 *
 * Given back by a plain store: nobody is woken, those who wait look again. That saves a locked
 * instruction per turn over a lock with a queue. A holder may be off its core meanwhile, so the
 * others look a few times and then sleep a little, whatever their priorities.
 *
 * Most programs have one thread that comes here. The first to come takes all brief locks by a plain
 * store of its own, and pays for no locked instruction, until a second comes. That one ends the
 * first one's privilege, once and for all: it says so, has membarrier(2) pass a barrier through
 * every thread, and waits until the first is outside. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct brief_lock {
        _Atomic unsigned is_held;
};

enum brief_lock_state { BRIEF_LOCK_NEW, BRIEF_LOCK_ALONE, BRIEF_LOCK_CHANGING, BRIEF_LOCK_SHARED };

/* Read by the inline functions below and by nobody else. */
extern struct brief_lock_alone {
        _Atomic int state;        /* enum brief_lock_state */
        _Atomic unsigned is_held; /* by the thread that is alone, whichever lock it is */
} brief_lock_alone;
extern _Thread_local bool brief_lock_is_first __attribute__((tls_model("initial-exec")));

/* In a forked child, which has one thread: all begins anew. */
void brief_lock_forked(void);

/* The paths that are rarely taken. brief_lock_join: true, this thread is the first. */
bool brief_lock_join(void);
void brief_lock_wait(struct brief_lock *lock);

/* False: no more alone. */
static inline bool brief_lock_take_alone(void)
{
        atomic_store_explicit(&brief_lock_alone.is_held, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* the other thread's membarrier does the rest */
        if (__builtin_expect(atomic_load_explicit(&brief_lock_alone.state, memory_order_acquire) ==
                                     BRIEF_LOCK_ALONE,
                             1))
                return true;
        atomic_store_explicit(&brief_lock_alone.is_held, 0, memory_order_release);
        brief_lock_is_first = false;
        return false;
}

static inline void brief_lock_take(struct brief_lock *lock)
{
        if (brief_lock_is_first && brief_lock_take_alone())
                return;
        if (atomic_load_explicit(&brief_lock_alone.state, memory_order_acquire) !=
                    BRIEF_LOCK_SHARED &&
            brief_lock_join())
                return;
        while (__builtin_expect(atomic_exchange_explicit(&lock->is_held, 1, memory_order_acquire),
                                0))
                brief_lock_wait(lock);
}

static inline void brief_lock_give(struct brief_lock *lock)
{
        _Atomic unsigned *taken = brief_lock_is_first ? &brief_lock_alone.is_held : &lock->is_held;

        atomic_store_explicit(taken, 0, memory_order_release);
}
