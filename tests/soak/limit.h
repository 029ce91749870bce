/* SPDX-License-Identifier: Apache-2.0 */
/* limit: the soak of the memory limit. Processes of one container, under libvgpu.so, on one GPU. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "machine.h"

#define MIB (UINT64_C(1) << 20)

enum { LIMIT_KINDS = 7 };

/* Seen by all processes of a run. */
struct limit_shared {
        _Atomic uint64_t taken[LIMIT_KINDS], refused[LIMIT_KINDS];
        _Atomic uint64_t wrong; /* answers that are neither success nor out of memory */
        _Atomic bool is_over;
        _Atomic bool is_paused;
        _Atomic unsigned paused; /* how many have seen it */
};

/* The GPU, the region and the limit of a run: made, and set for the processes to come. */
struct limit_run {
        char machine_path[64], region_path[80];
        struct machine machine;
        uint64_t limit_bytes;
        struct limit_shared *shared;
        unsigned seed;
};
void limit_open(struct limit_run *run, uint64_t limit_bytes, uint64_t context_bytes);
void limit_close(struct limit_run *run);

/* A process that dies with this one. */
pid_t limit_fork(void);

/* What the GPU itself says is used, read without a lock; and with the dead gone. */
uint64_t limit_gpu_bytes(const struct limit_run *run);
uint64_t limit_gpu_settled(struct limit_run *run);

/* Takes and gives memory of every kind, at random, until is_over; stands still while is_paused. */
_Noreturn void limit_work(struct limit_shared *shared, unsigned seed);
const char *limit_kind_name(unsigned kind);

/* Looks whether a new process gets all that is left of the limit in one piece, and nothing more. */
void limit_check_whole(struct limit_run *run);
/* Checks that region and GPU agree, process by process. True: they do. */
bool limit_agrees(struct limit_run *run);

/* The soaks. */
void limit_race(unsigned processes, unsigned seconds);
void limit_end(unsigned processes, unsigned ends, unsigned release_us);
void limit_kill(unsigned kills);
void limit_crowd(unsigned processes);
void limit_export(unsigned kills);
