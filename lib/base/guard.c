/* SPDX-License-Identifier: Apache-2.0 */
/* guard: see guard.h. */
#include "guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD_CAPACITY = 16384 }; /* untouched, it costs nothing */

/* Written under the lock, read by the signal handler of whichever thread looked. */
static struct {
        pthread_mutex_t lock;
        struct sigaction before;
        _Atomic unsigned count;
        struct {
                _Atomic uintptr_t begin;
                _Atomic size_t bytes;
        } rows[GUARD_CAPACITY];
} guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local bool is_opening;

/* A page of what is being opened and has no row yet. */
static bool page_replace(uintptr_t address)
{
        const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

        return mmap((void *)(address & ~(page - 1)), page, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* The whole mapping: whoever cuts a file short has nothing left to say in it. */
static void on_bus_error(int number, siginfo_t *what, void *context)
{
        const uintptr_t address = (uintptr_t)what->si_addr;

        (void)context;
        for (unsigned i = 0; i < atomic_load(&guard.count); i++) {
                const uintptr_t begin = atomic_load(&guard.rows[i].begin);
                const size_t bytes = atomic_load(&guard.rows[i].bytes);

                if (begin && address - begin < bytes &&
                    mmap((void *)begin, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
                        return;
        }
        if (is_opening && page_replace(address))
                return;
        sigaction(number, &guard.before, NULL); /* not ours: it happens again, to whom it may */
}

/* Again if somebody has put another in its place. */
static void handler_install(void)
{
        struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO }, now;

        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, NULL, &now);
        if (now.sa_sigaction != on_bus_error)
                sigaction(SIGBUS, &action, &guard.before);
}

static int row_add(void *mapping, size_t bytes)
{
        const unsigned count = atomic_load(&guard.count);
        unsigned i = 0;

        while (i < count && atomic_load(&guard.rows[i].begin))
                i++;
        if (i == GUARD_CAPACITY)
                return -ENOSPC;
        handler_install();
        atomic_store(&guard.rows[i].bytes, bytes);
        atomic_store(&guard.rows[i].begin, (uintptr_t)mapping);
        if (i == count)
                atomic_store(&guard.count, count + 1);
        return 0;
}

int guard_add(void *mapping, size_t bytes)
{
        pthread_mutex_lock(&guard.lock);
        const int r = row_add(mapping, bytes);
        pthread_mutex_unlock(&guard.lock);
        return r;
}

void guard_open_begin(void)
{
        pthread_mutex_lock(&guard.lock);
        handler_install();
        pthread_mutex_unlock(&guard.lock);
        is_opening = true;
}

void guard_open_end(void)
{
        is_opening = false;
}

void guard_remove(void *mapping)
{
        for (unsigned i = 0; mapping && i < atomic_load(&guard.count); i++)
                if (atomic_load(&guard.rows[i].begin) == (uintptr_t)mapping)
                        atomic_store(&guard.rows[i].begin, 0);
}
