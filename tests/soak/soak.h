/* SPDX-License-Identifier: Apache-2.0 */
/* soak: processes are killed at any instruction while they use one machine; it must stay whole. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SOAK_GPUS = 2, SOAK_OFFERS = 8 };

/* Seen by all processes of a run. */
struct soak_shared {
        _Atomic uint64_t driver_calls; /* that succeeded, of the killed and the living */
        _Atomic uint64_t machine_calls;
        _Atomic uint64_t launches;
        _Atomic uint64_t allocations;
        _Atomic uint64_t imports; /* of memory that another process offers */
        _Atomic uint64_t bystander_rounds;
        _Atomic uint64_t bystander_slowest_ns;
        _Atomic uint64_t bystander_wrong; /* bytes that changed under its hands, failed calls */
        _Atomic bool is_over;
        unsigned char offered[SOAK_OFFERS][64]; /* IPC handles; may be torn or of the dead */
};

/* What the killed do: each runs until it is killed. `seed` differs from process to process. */
_Noreturn void worker_use_driver(struct soak_shared *shared, unsigned seed);
_Noreturn void worker_use_machine(struct soak_shared *shared, const char *path, unsigned seed);

/* A process that nobody kills: works on until is_over and watches its data and its pace. */
_Noreturn void worker_stand_by(struct soak_shared *shared);

/* Looks at the machine when all is over; false when a check failed. Prints a TAP line per check. */
bool inspect(const char *path);
