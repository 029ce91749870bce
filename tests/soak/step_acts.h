/* SPDX-License-Identifier: Apache-2.0 */
/* What processes do to a machine, one act after the other: directly, or through the driver. */
#pragma once

#include "cuda_prototypes.h"
#include "machine.h"
#include "timeline.h"

struct actor {
        struct machine machine; /* of those who use it directly */
        struct machine_slot *slot;
        uint32_t channel;
        machine_ref ref;
        CUfunction kernels[2]; /* of those who use the driver: interpreted, timed */
        CUdeviceptr buffers[5];
        CUcontext context;
};

struct act {
        const char *name;
        void (*run)(struct actor *actor);
        bool needs_corpse; /* a process that just died */
};

struct play {
        const char *name;
        void (*open)(struct actor *actor);
        const struct act *acts;
        int act_count;
        /* Of those with libvgpu.so, may be NULL: makes the container for a new machine, says what is wrong with it after a
         * death, and removes it. */
        int (*prepare)(struct machine *machine, struct err *e);
        const char *(*find_damage)(void);
        void (*clean)(void);
};

/* Without libvgpu.so. */
enum { PLAYS = 2 };
extern const struct play plays[PLAYS];
/* With it. */
extern const struct play play_moving;
