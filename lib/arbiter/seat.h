/* The arbiter's seat among the `vgpu run` programs of one user: a file with a lock. Whoever has the
 * lock is the arbiter; the others wait for it, and the kernel hands it on when its holder dies. A
 * holder that is stopped keeps the lock and answers nobody: it is killed, which hands it on too. It
 * has nothing to lose (arbiter.h). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

enum { SEAT_VERSION = 1 };
#define SEAT_NAME ".arbiter" /* in the folder of a user's shares */

struct seat_file {
        uint32_t version;            /* 0: nobody has taken it yet */
        _Atomic uint32_t members;    /* futex: a share came or went */
        _Atomic uint32_t pid;        /* who has it */
        _Atomic uint32_t agent_pid;  /* the machine's agent, which wants it; 0: there is none */
        _Atomic uint64_t start_time; /* of that process, clock ticks since boot */
        _Atomic uint64_t steps;      /* grows while it works */
        _Atomic uint64_t agent_start_time;
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
/* Gives it back. */
void seat_give(struct seat *seat);

/* The machine's agent (vgpu-node) keeps turns for all its users: who has the seat leaves it, and nobody
 * stays on it while the agent lives. */
void seat_claim(struct seat *seat);
/* By another process, which lives? */
bool seat_is_claimed(const struct seat *seat);
/* Sleeps until who claimed it is gone. */
void seat_wait_unclaimed(const struct seat *seat);
/* Ours, if nobody has it at the moment. */
bool seat_try(struct seat *seat);
/* Opens the seat in a user's folder, if there is one. -EPERM: it is not that user's. The user may cut it
 * short: it is under guard. */
int seat_open_of(int folder, uid_t user, struct seat *ret_seat);

/* Shares came or went: the holder looks. */
void seat_ring(struct seat *seat);

/* Nobody answers: kills the holder if it is stopped, or does not move for two seconds although it is
 * rung for. True: it is gone, or there is none. */
bool seat_free_if_stuck(struct seat *seat);
