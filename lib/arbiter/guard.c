/* guard: see guard.h. */
#include "guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum { GUARD_ROOM = 512 };

/* Written by one thread, read by its own signal handler. */
static struct {
        struct sigaction before;
        _Atomic unsigned count;
        struct {
                _Atomic uintptr_t begin;
                _Atomic size_t bytes;
        } rows[GUARD_ROOM];
} guard;

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

void guard_add(void *mapping, size_t bytes)
{
        const unsigned count = atomic_load(&guard.count);
        unsigned i = 0;

        while (i < count && atomic_load(&guard.rows[i].begin))
                i++;
        if (i == GUARD_ROOM)
                return;
        handler_install();
        atomic_store(&guard.rows[i].bytes, bytes);
        atomic_store(&guard.rows[i].begin, (uintptr_t)mapping);
        if (i == count)
                atomic_store(&guard.count, count + 1);
}

void guard_remove(void *mapping)
{
        for (unsigned i = 0; i < atomic_load(&guard.count); i++)
                if (atomic_load(&guard.rows[i].begin) == (uintptr_t)mapping)
                        atomic_store(&guard.rows[i].begin, 0);
}
