/* SPDX-License-Identifier: Apache-2.0 */
/* worker: a process whose compute is limited, and what the machine itself counted of its work. */
#pragma once

#include "guest.h"

enum { WORKER_GPUS = 2, WORKER_WATCHED = 8 };

enum { KERNEL_100US, KERNEL_2MS, KERNEL_100MS, KERNEL_2S, KERNEL_20MS, WORKER_KERNELS };

struct worker {
        CUcontext contexts[WORKER_GPUS];
        CUfunction kernels[WORKER_GPUS][WORKER_KERNELS];
        CUstream stream; /* of the first GPU */
};

/* A machine whose kernels take their time exactly, and a limit for each GPU by environment ("20"). */
void worker_machine(const char *cores);
/* Starts CUDA: a context on each GPU, the first one current. */
void worker_start(struct worker *worker);

/* The machine's own clock and counter of one GPU, and how long programs at work had to wait for a CPU. */
struct worker_time {
        uint64_t clock_ns, busy_ns, late_ns;
};
struct worker_time worker_time(unsigned gpu);
/* Whose waits for a CPU count, at most WORKER_WATCHED; this process's, if none are named. */
void worker_watch(const pid_t *pids, unsigned count);
/* For struct worker_time. */
uint64_t worker_late_ns(void);
/* Those who are watched get a CPU before others do, where we may ask for that; their children, too. */
void worker_hurry(void);
/* Waits for the end of a child; how long it had to wait for a CPU. 0: there is none. */
pid_t worker_reap(uint64_t *ret_late_ns);

/* Percent of a time that the GPU was busy, and that programs waited for a CPU. */
struct load {
        double percent, late_percent;
};
struct load load_between(struct worker_time begin, struct worker_time end);
struct load worker_load(unsigned gpu, struct worker_time since);

/* Repeats the round until this much time has passed on the machine; the load of GPU 0 meanwhile. */
struct load worker_run(struct worker *worker, void (*round)(struct worker *worker), unsigned ms);

/* GPU time that the region says the container used on the GPU. */
uint64_t worker_counted_ns(unsigned gpu);
