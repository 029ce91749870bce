/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use the machine directly, in tight loops: most of their time is spent inside its
 * locks, so that most of their deaths happen there. */
#include <stdlib.h>
#include <unistd.h>

#include "event.h"
#include "machine.h"
#include "slot.h"
#include "soak.h"
#include "timeline.h"
#include "unit_memory.h"

static void use_memory(struct machine *machine, struct machine_slot *slot, unsigned unit,
                       unsigned *seed)
{
        const uint64_t bytes = (uint64_t)(rand_r(seed) % 64 + 1) * MACHINE_GRANULE_BYTES;

        if (unit_charge(machine, unit, slot, bytes) == 0 && rand_r(seed) % 8)
                unit_release(machine, unit, slot, bytes);
        if (unit_charge_context(machine, unit, slot, bytes) == 0 && rand_r(seed) % 8)
                unit_release_context(machine, unit, slot, bytes);
        unit_managed_out(machine, unit, slot, unit_managed_in(machine, unit, slot, bytes));
}

static void use_time(struct machine *machine, struct machine_slot *slot, unsigned unit,
                     unsigned *seed)
{
        struct timeline_op op = {
                .engine = (enum machine_engine)(rand_r(seed) % ENGINE_HOST),
                .duration_ns = (uint64_t)(rand_r(seed) % 20000),
        };
        uint32_t channel;
        machine_ref ref;

        if (timeline_channel(machine, slot, unit, &channel) < 0)
                return;
        for (int i = 0; i < 8; i++)
                if (timeline_submit(machine, channel, &op, &ref) == 0 && rand_r(seed) % 4 == 0)
                        timeline_wait(machine, ref);
        timeline_advance(machine, unit);
}

void worker_use_machine(struct soak_shared *shared, const char *path, unsigned seed)
{
        struct machine_slot *slot;
        struct machine machine;

        if (machine_open(path, &machine, NULL) < 0)
                _exit(1);
        for (;;) {
                const unsigned unit = (unsigned)rand_r(&seed) % SOAK_GPUS * MACHINE_UNITS_PER_GPU;

                if (slot_attach(&machine, &slot) < 0)
                        continue;
                for (int i = 0; i < 50; i++) {
                        use_memory(&machine, slot, unit, &seed);
                        use_time(&machine, slot, unit, &seed);
                        shared->machine_calls++;
                }
                if (rand_r(&seed) % 4 == 0)
                        event_post(&machine, unit / MACHINE_UNITS_PER_GPU, 8, 13);
                slot_reap(&machine);
                slot_detach(&machine, slot);
        }
}
