/* SPDX-License-Identifier: Apache-2.0 */
/* worker: a process whose compute is limited, and what the machine itself counted of its work. */
#pragma once

#include "guest.h"

enum { WORKER_GPUS = 2 };

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

/* The machine's own clock and counter of one GPU. */
struct worker_time {
        uint64_t clock_ns, busy_ns;
};
struct worker_time worker_time(unsigned gpu);
/* Percent of the time since then that the GPU was busy. */
double worker_load(unsigned gpu, struct worker_time since);

/* Repeats the round until this much time has passed on the machine; the load of GPU 0 meanwhile. */
double worker_run(struct worker *worker, void (*round)(struct worker *worker), unsigned ms);

/* GPU time that the region says the container used on the GPU. */
uint64_t worker_counted_ns(unsigned gpu);
