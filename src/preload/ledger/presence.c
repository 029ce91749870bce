/* presence: a count per thread, not one for all: threads that only allocate never share a line. */
#include "presence.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lock.h"

enum { CELLS = 256 };

struct cell {
        _Alignas(64) _Atomic unsigned inside;
};

static struct {
        struct cell cells[CELLS];
        _Atomic unsigned next;
        _Atomic bool is_locked;
        struct lock lock;
} presence;

/* More threads than cells share them: the count is atomic. */
static _Atomic unsigned *own_cell(void)
{
        static _Thread_local struct cell *cell __attribute__((tls_model("initial-exec")));

        if (__builtin_expect(!cell, 0))
                cell = &presence.cells[atomic_fetch_add(&presence.next, 1) % CELLS];
        return &cell->inside;
}

void presence_enter(void)
{
        _Atomic unsigned *inside = own_cell();

        for (;;) {
                atomic_fetch_add(inside, 1);
                if (__builtin_expect(!atomic_load(&presence.is_locked), 1))
                        return;
                atomic_fetch_sub(inside, 1);
                lock_take(&presence.lock);
                lock_give(&presence.lock);
        }
}

void presence_leave(void)
{
        atomic_fetch_sub_explicit(own_cell(), 1, memory_order_release);
}

void presence_lock(void)
{
        lock_take(&presence.lock);
        atomic_store(&presence.is_locked, true);
        for (unsigned i = 0; i < CELLS; i++)
                while (atomic_load(&presence.cells[i].inside))
                        sched_yield();
}

void presence_unlock(void)
{
        atomic_store(&presence.is_locked, false);
        lock_give(&presence.lock);
}

void presence_clear(void)
{
        for (unsigned i = 0; i < CELLS; i++)
                atomic_store(&presence.cells[i].inside, 0);
        atomic_store(&presence.is_locked, false);
        presence.lock = (struct lock){ 0 };
}
