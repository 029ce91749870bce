/* SPDX-License-Identifier: Apache-2.0 */
/* The set of words changes hands by one flag: armed, it is the thread's. */
#include "futex_relay.h"

#include <string.h>

#include "clock.h"
#include "futex.h"

static void wait_armed(struct futex_relay *relay, uint32_t order)
{
        struct futex_waitv waits[FUTEX_SET_KERNEL_MOST];
        unsigned count = 0;

        for (; count < relay->count; count++)
                waits[count] = futex_entry_waitv(&relay->entries[count]);
        waits[count++] = futex_entry_waitv(&(struct futex_entry){ &relay->order, order });
        syscall(SYS_futex_waitv, waits, count, 0, NULL, CLOCK_MONOTONIC);
}

static void *futex_relay_run(void *argument)
{
        struct futex_relay *relay = argument;

        for (;;) {
                /* The order first: whoever changes the other fields changes it afterwards. */
                const uint32_t order = atomic_load(&relay->order);

                if (atomic_load(&relay->is_over))
                        return NULL;
                if (!atomic_load(&relay->is_armed)) {
                        futex_wait(&relay->order, order, 3600 * NS_PER_S);
                        continue;
                }
                wait_armed(relay, order);
                /* Before it rings: whoever hears it finds the set free. */
                atomic_store(&relay->is_armed, false);
                futex_ring(relay->rings);
        }
}

static bool is_same(const struct futex_relay *relay, const struct futex_entry *entries,
                    unsigned count)
{
        bool is_same = relay->count == count;

        for (unsigned i = 0; is_same && i < count; i++)
                is_same = relay->entries[i].word == entries[i].word &&
                          relay->entries[i].seen == entries[i].seen;
        return is_same;
}

static void disarm(struct futex_relay *relay)
{
        futex_ring(&relay->order);
        for (;;) {
                const uint32_t rung = atomic_load(relay->rings);

                if (!atomic_load(&relay->is_armed))
                        return;
                futex_wait(relay->rings, rung, NS_PER_S);
        }
}

bool futex_relay_arm(struct futex_relay *relay, const struct futex_entry *entries, unsigned count,
                     _Atomic uint32_t *rings)
{
        if (!relay->has_thread) {
                relay->rings = rings;
                atomic_store(&relay->is_over, false);
                relay->has_thread =
                        pthread_create(&relay->thread, NULL, futex_relay_run, relay) == 0;
        }
        if (!relay->has_thread)
                return false;
        if (atomic_load(&relay->is_armed)) {
                if (is_same(relay, entries, count))
                        return true;
                disarm(relay);
        }
        memcpy(relay->entries, entries, count * sizeof *entries);
        relay->count = count;
        atomic_store(&relay->is_armed, true);
        futex_ring(&relay->order);
        return true;
}

bool futex_relay_has(const struct futex_relay *relay, const _Atomic uint32_t *word)
{
        for (unsigned i = 0; relay->has_thread && i < relay->count; i++)
                if (relay->entries[i].word == word)
                        return true;
        return false;
}

void futex_relay_end(struct futex_relay *relay)
{
        if (!relay->has_thread)
                return;
        atomic_store(&relay->is_over, true);
        futex_ring(&relay->order);
        pthread_join(relay->thread, NULL);
        relay->has_thread = false;
        atomic_store(&relay->is_armed, false);
}
