/* SPDX-License-Identifier: Apache-2.0 */
/* presence: a count per thread, not one for all: threads that only allocate never share a line.
 *
 * A thread that enters writes its own cell and then reads is_locked; a measurer writes is_locked and
 * then reads the cells. One of them must see the other, which takes a full barrier on both sides.
 * membarrier(2) makes the measurer, who comes rarely, pay for both: it returns when every running
 * thread of the process has passed a barrier. So entering is a plain store. Where the kernel has no
 * membarrier, both sides use locked instructions. */
#include "presence.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lock.h"

enum { CELLS = 256 }; /* the last is shared by the threads that got none */
enum { MEMBARRIER_PRIVATE = 1 << 3, MEMBARRIER_REGISTER_PRIVATE = 1 << 4 };

struct cell {
        _Alignas(64) _Atomic unsigned inside;
};

static struct {
        struct cell cells[CELLS];
        _Atomic unsigned next;
        _Atomic bool is_locked;
        _Atomic bool has_membarrier;
        struct lock lock;
} presence;

void presence_start(void)
{
        long r = syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE, 0);

        atomic_store(&presence.has_membarrier, r == 0);
}

static struct cell *own_cell(void)
{
        static _Thread_local struct cell *cell __attribute__((tls_model("initial-exec")));

        if (__builtin_expect(!cell, 0)) {
                unsigned number = atomic_load(&presence.next);
                while (number < CELLS - 1 &&
                       !atomic_compare_exchange_weak(&presence.next, &number, number + 1))
                        continue;
                cell = &presence.cells[number];
        }
        return cell;
}

/* Is a plain store enough? Only in a cell that no other thread writes. */
static bool is_plain(const struct cell *cell)
{
        return cell != &presence.cells[CELLS - 1] &&
               atomic_load_explicit(&presence.has_membarrier, memory_order_relaxed);
}

static void cell_add(struct cell *cell, unsigned change)
{
        if (!is_plain(cell)) {
                atomic_fetch_add(&cell->inside, change);
                return;
        }
        unsigned inside = atomic_load_explicit(&cell->inside, memory_order_relaxed);
        atomic_store_explicit(&cell->inside, inside + change, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst); /* the compiler keeps the order, too */
}

void presence_enter(void)
{
        struct cell *cell = own_cell();

        for (;;) {
                cell_add(cell, 1);
                if (__builtin_expect(!atomic_load(&presence.is_locked), 1))
                        return;
                cell_add(cell, -1u);
                lock_take(&presence.lock);
                lock_give(&presence.lock);
        }
}

void presence_leave(void)
{
        cell_add(own_cell(), -1u);
}

void presence_lock(void)
{
        lock_take(&presence.lock);
        atomic_store(&presence.is_locked, true);
        if (atomic_load(&presence.has_membarrier))
                syscall(SYS_membarrier, MEMBARRIER_PRIVATE, 0);
        for (unsigned i = 0; i < CELLS; i++)
                while (atomic_load(&presence.cells[i].inside))
                        sched_yield();
}

bool presence_try_lock(void)
{
        bool is_alone = true;

        if (!lock_try(&presence.lock))
                return false;
        atomic_store(&presence.is_locked, true);
        if (atomic_load(&presence.has_membarrier))
                syscall(SYS_membarrier, MEMBARRIER_PRIVATE, 0);
        for (unsigned i = 0; i < CELLS && is_alone; i++)
                is_alone = !atomic_load(&presence.cells[i].inside);
        if (!is_alone)
                presence_unlock();
        return is_alone;
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
        atomic_store(&presence.has_membarrier, false); /* until it is registered again */
        presence.lock = (struct lock){ 0 };
}
