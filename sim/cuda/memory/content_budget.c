/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's budget for contents: taken in advance, so that most writes ask nobody. */
#include "content_budget.h"

#include <pthread.h>
#include <stdatomic.h>

#include "driver.h"

#define ADVANCE_BYTES (UINT64_C(8) << 20) /* taken at a time */

static struct {
        pthread_mutex_t lock; /* guards changes of allowed_bytes */
        _Atomic uint64_t used_bytes;
        _Atomic uint64_t allowed_bytes; /* what the slot says, for the others to see */
} budget = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t budget_of_others(void)
{
        struct machine_file *file = driver.machine.file;
        uint32_t high = atomic_load(&file->header.slots_high);
        uint64_t sum = 0;

        for (uint32_t i = 0; i < high; i++) {
                struct machine_slot *slot = &file->slots[i];
                if (slot != driver.slot && atomic_load(&slot->state) == SLOT_LIVE)
                        sum += atomic_load(&slot->content_bytes);
        }
        return sum;
}

static void budget_set(uint64_t bytes)
{
        atomic_store(&budget.allowed_bytes, bytes);
        atomic_store(&driver.slot->content_bytes, bytes);
}

/* More of the budget, if there is more. */
static bool budget_advance(uint64_t wanted)
{
        uint64_t all = driver.machine.file->header.content_budget_bytes;
        bool is_enough;

        pthread_mutex_lock(&budget.lock);
        uint64_t others = budget_of_others();
        uint64_t available = all > others ? all - others : 0;
        uint64_t next = wanted + ADVANCE_BYTES < available ? wanted + ADVANCE_BYTES : available;
        is_enough = wanted <= next;
        if (is_enough && next > atomic_load(&budget.allowed_bytes))
                budget_set(next);
        pthread_mutex_unlock(&budget.lock);
        return is_enough;
}

bool budget_take(uint64_t bytes)
{
        uint64_t used = atomic_fetch_add(&budget.used_bytes, bytes) + bytes;

        if (used <= atomic_load_explicit(&budget.allowed_bytes, memory_order_relaxed))
                return true;
        if (budget_advance(used))
                return true;
        atomic_fetch_sub(&budget.used_bytes, bytes);
        return false;
}

void budget_give(uint64_t bytes)
{
        uint64_t used = atomic_fetch_sub(&budget.used_bytes, bytes) - bytes;

        if (atomic_load(&budget.allowed_bytes) < used + 4 * ADVANCE_BYTES)
                return;
        pthread_mutex_lock(&budget.lock);
        used = atomic_load(&budget.used_bytes);
        if (atomic_load(&budget.allowed_bytes) > used + 2 * ADVANCE_BYTES)
                budget_set(used + ADVANCE_BYTES);
        pthread_mutex_unlock(&budget.lock);
}
