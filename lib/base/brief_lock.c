/* SPDX-License-Identifier: Apache-2.0 */
/* brief_lock: waiting, and the end of being alone. */
#include "brief_lock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MEMBARRIER_PRIVATE = 1 << 3, MEMBARRIER_REGISTER_PRIVATE = 1 << 4 };

struct brief_lock_alone brief_lock_alone;
_Thread_local bool brief_lock_is_first __attribute__((tls_model("initial-exec")));

/* No point of cancellation, errno kept. */
static void nap(void)
{
        const struct timespec length = { .tv_nsec = 20000 };
        int saved_errno = errno;

        syscall(SYS_nanosleep, &length, NULL);
        errno = saved_errno;
}

void brief_lock_wait(struct brief_lock *lock)
{
        for (unsigned tries = 1; atomic_load_explicit(&lock->is_held, memory_order_relaxed);
             tries++)
                if (tries % 256 == 0)
                        nap();
}

static bool state_change(enum brief_lock_state from, enum brief_lock_state to)
{
        int seen = (int)from;

        return atomic_compare_exchange_strong(&brief_lock_alone.state, &seen, (int)to);
}

static bool first_begin(void)
{
        /* An old kernel has no membarrier: locked instructions, then. */
        if (syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE, 0) != 0) {
                atomic_store(&brief_lock_alone.state, BRIEF_LOCK_SHARED);
                return false;
        }
        brief_lock_is_first = true;
        atomic_store_explicit(&brief_lock_alone.is_held, 1, memory_order_relaxed);
        atomic_store(&brief_lock_alone.state, BRIEF_LOCK_ALONE);
        return true;
}

static void first_end(void)
{
        syscall(SYS_membarrier, MEMBARRIER_PRIVATE, 0);
        while (atomic_load_explicit(&brief_lock_alone.is_held, memory_order_acquire))
                nap();
        atomic_store(&brief_lock_alone.state, BRIEF_LOCK_SHARED);
}

bool brief_lock_join(void)
{
        int saved_errno = errno;
        bool is_first = false;

        if (state_change(BRIEF_LOCK_NEW, BRIEF_LOCK_CHANGING))
                is_first = first_begin();
        while (!is_first && atomic_load(&brief_lock_alone.state) != BRIEF_LOCK_SHARED) {
                if (state_change(BRIEF_LOCK_ALONE, BRIEF_LOCK_CHANGING))
                        first_end();
                else
                        nap();
        }
        errno = saved_errno;
        return is_first;
}

void brief_lock_forked(void)
{
        brief_lock_is_first = false;
        atomic_store(&brief_lock_alone.is_held, 0);
        atomic_store(&brief_lock_alone.state, BRIEF_LOCK_NEW);
}
