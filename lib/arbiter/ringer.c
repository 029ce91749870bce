/* The set of words changes hands by one flag: armed, it is the thread's. */
#include "ringer.h"

#include <string.h>

#include "clock.h"
#include "futex.h"

static void wait_armed(struct ringer *ringer, uint32_t order)
{
        struct futex_waitv waits[BELLS_KERNEL_MOST];
        unsigned count = 0;

        for (; count < ringer->count; count++)
                waits[count] = bell_waitv(&ringer->bells[count]);
        waits[count++] = bell_waitv(&(struct bell){ &ringer->order, order });
        syscall(SYS_futex_waitv, waits, count, 0, NULL, CLOCK_MONOTONIC);
}

static void *ringer_run(void *argument)
{
        struct ringer *ringer = argument;

        for (;;) {
                /* The order first: whoever changes the rest changes it afterwards. */
                const uint32_t order = atomic_load(&ringer->order);

                if (atomic_load(&ringer->is_over))
                        return NULL;
                if (!atomic_load(&ringer->is_armed)) {
                        futex_wait(&ringer->order, order, 3600 * NS_PER_S);
                        continue;
                }
                wait_armed(ringer, order);
                /* Before it rings: whoever hears it finds the set free. */
                atomic_store(&ringer->is_armed, false);
                futex_ring(ringer->rings);
        }
}

static bool is_same(const struct ringer *ringer, const struct bell *bells, unsigned count)
{
        bool is_same = ringer->count == count;

        for (unsigned i = 0; is_same && i < count; i++)
                is_same = ringer->bells[i].word == bells[i].word &&
                          ringer->bells[i].seen == bells[i].seen;
        return is_same;
}

static void disarm(struct ringer *ringer)
{
        futex_ring(&ringer->order);
        for (;;) {
                const uint32_t rung = atomic_load(ringer->rings);

                if (!atomic_load(&ringer->is_armed))
                        return;
                futex_wait(ringer->rings, rung, NS_PER_S);
        }
}

bool ringer_arm(struct ringer *ringer, const struct bell *bells, unsigned count,
                _Atomic uint32_t *rings)
{
        if (!ringer->has_thread) {
                ringer->rings = rings;
                atomic_store(&ringer->is_over, false);
                ringer->has_thread = pthread_create(&ringer->thread, NULL, ringer_run, ringer) == 0;
        }
        if (!ringer->has_thread)
                return false;
        if (atomic_load(&ringer->is_armed)) {
                if (is_same(ringer, bells, count))
                        return true;
                disarm(ringer);
        }
        memcpy(ringer->bells, bells, count * sizeof *bells);
        ringer->count = count;
        atomic_store(&ringer->is_armed, true);
        futex_ring(&ringer->order);
        return true;
}

bool ringer_has(const struct ringer *ringer, const _Atomic uint32_t *word)
{
        for (unsigned i = 0; ringer->has_thread && i < ringer->count; i++)
                if (ringer->bells[i].word == word)
                        return true;
        return false;
}

void ringer_end(struct ringer *ringer)
{
        if (!ringer->has_thread)
                return;
        atomic_store(&ringer->is_over, true);
        futex_ring(&ringer->order);
        pthread_join(ringer->thread, NULL);
        ringer->has_thread = false;
        atomic_store(&ringer->is_armed, false);
}
