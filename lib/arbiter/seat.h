/* The arbiter's seat among the `vgpu run` programs of one user: a file with a lock. Whoever has the
 * lock is the arbiter; the others wait for it, and the kernel hands it on when its holder dies. A
 * holder that is stopped keeps the lock and answers nobody: it is killed, which hands it on too. It
 * has nothing to lose (arbiter.h). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

enum { SEAT_VERSION = 1 };

struct seat_file {
        uint32_t version;         /* 0: nobody has taken it yet */
        _Atomic uint32_t members; /* futex: a share came or went */
        _Atomic uint32_t pid;     /* who has it */
        uint32_t reserved;
        _Atomic uint64_t start_time; /* of that process, clock ticks since boot */
        _Atomic uint64_t steps;      /* grows while it works */
};

struct seat {
        int fd;
        struct seat_file *file;
};

/* Opens the seat at the path, made if absent. */
int seat_open(const char *path, struct seat *ret_seat, struct err *e);
void seat_close(struct seat *seat);

/* Waits until the seat is ours. -EPROTO: it belongs to another release. */
int seat_take(struct seat *seat);
/* Shares came or went: the holder looks. */
void seat_ring(struct seat *seat);

/* Nobody answers: kills the holder if it is stopped, or does not move for two seconds although it is
 * rung for. True: it is gone, or there is none. */
bool seat_free_if_stuck(struct seat *seat);
