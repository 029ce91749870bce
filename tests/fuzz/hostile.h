/* SPDX-License-Identifier: Apache-2.0 */
/* hostile: everybody reads and writes the files of a share while a tenant rewrites them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HOSTILE_DEVICES = 2, HOSTILE_PATH = 128, HOSTILE_WORKERS = 8 };

/* The files of a share, of a simulated machine, and of a user's arbiter. */
enum hostile_file {
        FILE_SHARE,
        FILE_REGION,
        FILE_GRANT,
        FILE_WANT,
        FILE_MACHINE,
        FILE_ARBITER,
        FILE_COUNT
};

struct hostile_hall {
        char folder[HOSTILE_PATH]; /* in it: as `vgpu run` has it, vgpu-UID/program/ */
        char paths[FILE_COUNT][HOSTILE_PATH];
};

/* Seen by all processes of a run. */
struct hostile_board {
        _Atomic bool is_over;
        _Atomic uint64_t rounds[HOSTILE_WORKERS];
        _Atomic uint64_t
                accepted[HOSTILE_WORKERS]; /* rounds in which something was there to be read */
        _Atomic uint64_t slowest_ns[HOSTILE_WORKERS];
        _Atomic uint64_t changes; /* the tenant's */
};

/* What one process does over and over; it aborts when an answer is out of bounds. True: what it looked at was
 * taken for something. */
struct hostile_worker {
        const char *name;
        bool (*round)(const struct hostile_hall *hall, unsigned *seed);
        bool is_in_container; /* maps what the tenant may cut short, as programs there do; not under guard */
};
extern const struct hostile_worker hostile_workers[];
extern const unsigned hostile_worker_count;

/* Makes the files. Exits where that fails. */
void hostile_files_make(const struct hostile_hall *hall);
/* The tenant: rewrites them until the run is over. `cuts`: also cuts files short, makes them longer and puts
 * others in their place. */
_Noreturn void hostile_rewrite(const struct hostile_hall *hall, struct hostile_board *board,
                               unsigned seed, bool cuts);
