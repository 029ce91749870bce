/* SPDX-License-Identifier: Apache-2.0 */
/* sketch: programs that are put together at random. A shape is a comma-separated list of words; a pass does them
 * one after another. hunt_load.c (`make hunt`) and tests/soak/invariant*.c run them. */
#pragma once

#include "cuda_prototypes.h"
#include "machine.h"

enum {
        SKETCH_STREAMS = 4,
        SKETCH_STEPS_MOST = 64,
        SKETCH_GRAPHS = 8,
        SKETCH_BUFFER_BYTES = 1 << 20,
        SKETCH_KERNELS = 11,
};

/* A machine to hunt on has kernels of these names and durations. */
extern const struct machine_kernel_time sketch_kernels[SKETCH_KERNELS];
/* What the words mean, for people. */
extern const char sketch_help[];

/* A letter, and up to two numbers. */
struct sketch_step {
        char letter;
        unsigned first, second;
};

struct sketch {
        struct sketch_step words[SKETCH_STEPS_MOST];
        unsigned count;
        CUfunction kernels[SKETCH_KERNELS];
        CUfunction spin; /* takes as long as its parameter says */
        CUstream streams[SKETCH_STREAMS];
        CUevent event;
        CUdeviceptr buffer;
        CUgraphExec graphs[SKETCH_GRAPHS]; /* by the place of their word */
        unsigned stream;                   /* current */
};

/* Cuts the text up. */
void sketch_read(char *text, struct sketch *sketch);

/* Loads kernels and makes streams in the current context; the program ends where the driver refuses. */
void sketch_open(struct sketch *sketch);
/* The same in the primary context of GPU 0, which becomes current. */
void sketch_open_primary(struct sketch *sketch);
/* Does words from `from` on, `count` at most. */
void sketch_do(struct sketch *sketch, unsigned from, unsigned count);
void sketch_pass(struct sketch *sketch);
