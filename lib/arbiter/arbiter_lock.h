/* SPDX-License-Identifier: Apache-2.0 */
/* arbiter_lock: elects the arbiter among the `vgpu run` programs of one user by a file lock. The holder is
 * the arbiter. The others wait, and the kernel passes the lock on when the holder dies. A holder that is
 * stopped keeps the lock and answers nobody, so it is killed; it has no state to lose (arbiter.h). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

enum { ARBITER_LOCK_VERSION = 1 };
#define ARBITER_LOCK_NAME ".arbiter" /* in the folder of a user's shares */

struct arbiter_lock_file {
        uint32_t version;            /* 0: nobody has held it yet */
        _Atomic uint32_t members;    /* futex: a share came or went */
        _Atomic uint32_t pid;        /* who has it */
        _Atomic uint32_t agent_pid;  /* the machine's agent, which wants it; 0: there is none */
        _Atomic uint64_t start_time; /* of that process, clock ticks since boot */
        _Atomic uint64_t steps;      /* grows while it works */
        _Atomic uint64_t agent_start_time;
};

struct arbiter_lock {
        int fd;
        struct arbiter_lock_file *file;
};

/* Opens the lock at the path, made if absent. */
int arbiter_lock_open(const char *path, struct arbiter_lock *ret_lock, struct err *e);
void arbiter_lock_close(struct arbiter_lock *lock);

/* Waits until the lock is ours. -EPROTO: it belongs to another release. */
int arbiter_lock_take(struct arbiter_lock *lock);
void arbiter_lock_release(struct arbiter_lock *lock);

/* The machine's agent (vgpu-node) arbitrates for all users: the holder releases the lock, and nobody else
 * keeps it while the agent lives. */
void arbiter_lock_claim(struct arbiter_lock *lock);
/* By another process, which lives? */
bool arbiter_lock_is_claimed(const struct arbiter_lock *lock);
/* Sleeps until who claimed it is gone. */
void arbiter_lock_wait_unclaimed(const struct arbiter_lock *lock);
/* Ours, if nobody has it at the moment. */
bool arbiter_lock_try(struct arbiter_lock *lock);
/* Opens the lock in a user's folder, if there is one. -EPERM: it is not that user's. The user may cut it
 * short: it is under guard. */
int arbiter_lock_open_of(int folder, uid_t user, struct arbiter_lock *ret_lock);

/* Shares came or went: wakes the holder. */
void arbiter_lock_ring(struct arbiter_lock *lock);

/* Nobody answers: kills the holder if it is stopped, or does not move for two seconds although it is
 * rung for. True: it is gone, or there is none. */
bool arbiter_lock_free_if_stuck(struct arbiter_lock *lock);
