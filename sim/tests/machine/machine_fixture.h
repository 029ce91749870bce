/* SPDX-License-Identifier: Apache-2.0 */
/* A machine of one GPU for a test, whose clock the test moves by hand; threads stand in for
 * processes (each holds a slot of its own). */
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "machine.h"
#include "slot.h"
#include "timeline.h"

enum { GRANULE = 2 << 20 };

/* Made, opened and unlinked at once: nothing is left behind. `memory_bytes` 0: the preset's. */
void fixture_open(struct machine *machine, uint64_t memory_bytes, unsigned gpu_count);

/* A stand-in process: attached until fixture_kill(), which ends its thread without detaching. */
struct tenant {
        struct machine *machine;
        struct machine_slot *slot;
        uint32_t channel;
        pthread_t thread;
        sem_t is_ready, may_die;
};
void fixture_attach(struct machine *machine, struct tenant *tenant);
void fixture_kill(struct tenant *tenant);

/* Submits work of this length; the clock of the machine stands at 1 ns for submissions. */
machine_ref fixture_submit(struct tenant *tenant, enum machine_engine engine, uint64_t duration_ns,
                           machine_ref after);
/* Moves the first unit's clock. */
void fixture_move(struct machine *machine, uint64_t until_ns);
