/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps: one table per device, one entry per entry of the rings. */
#include "stamp.h"

#include <stdlib.h>

#include "driver.h"

typedef struct stamp *stamp_ring[MACHINE_RING];
/* By channel; made when the first event is recorded on its device. */
static stamp_ring *stamp_rings[MACHINE_CHANNELS];

static struct stamp **stamp_entry(stamp_ring *rings, machine_ref op)
{
        return &rings[op >> 46 & 3][(op & ((UINT64_C(1) << 46) - 1)) % MACHINE_RING];
}

struct stamp *stamp_take(struct device *device, machine_ref op)
{
        stamp_ring **rings = &stamp_rings[device->channel];

        if (!*rings)
                *rings = calloc(ENGINE_COUNT, sizeof **rings);
        if (!*rings)
                return NULL;
        struct stamp **entry = stamp_entry(*rings, op);
        if (!*entry) {
                *entry = calloc(1, sizeof **entry);
                if (!*entry)
                        return NULL;
                (*entry)->op = op;
                (*entry)->references = 1; /* the table's */
        }
        (*entry)->references++;
        return *entry;
}

void stamp_drop(struct stamp *stamp)
{
        if (stamp && --stamp->references == 0)
                free(stamp);
}

void stamp_save(struct device *device, enum machine_engine engine)
{
        stamp_ring *rings = stamp_rings[device->channel];

        if (!rings)
                return;
        machine_ref victim = timeline_victim(&driver.machine, device->channel, engine);
        if (!victim)
                return;
        struct stamp **entry = stamp_entry(rings, victim);
        if (!*entry)
                return;
        (*entry)->end_ns = timeline_end_ns(&driver.machine, victim);
        stamp_drop(*entry);
        *entry = NULL;
}

uint64_t stamp_end_ns(const struct stamp *stamp)
{
        return stamp->end_ns ? stamp->end_ns : timeline_end_ns(&driver.machine, stamp->op);
}
