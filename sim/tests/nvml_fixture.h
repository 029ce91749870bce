/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_fixture: an open library, and other processes that hold and use GPUs, for the tests of NVML. */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvml_prototypes.h"
#include "sim.h"
#include "slot.h"
#include "timeline.h"
#include "unit_memory.h"
/* By path: the tests have a unit.h of their own. */

#define MIB        (UINT64_C(1) << 20)
#define GOOD(call) CHECK_EQ(call, NVML_SUCCESS)

static inline nvmlDevice_t nvml_device(unsigned index)
{
        nvmlDevice_t device = NULL;

        GOOD(nvmlDeviceGetHandleByIndex_v2(index, &device));
        return device;
}

/* A machine of so many GPUs, the library open on it. */
static inline nvmlDevice_t nvml_start(const char *preset, unsigned gpus)
{
        sim_machine(preset, gpus);
        GOOD(nvmlInit_v2());
        return nvml_device(0);
}

/* What a neighbour does: attaches, holds a context and memory on the unit, and keeps it busy. */
static inline void neighbour_live(unsigned unit, uint64_t bytes, bool is_busy, int ready)
{
        struct machine *machine = sim_machine_open();
        struct machine_slot *slot;
        machine_ref ref;
        uint32_t channel;

        /* A case that fails takes it along. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (slot_attach(machine, &slot) < 0 ||
            unit_charge_context(machine, unit, slot, 4 * MIB) < 0 ||
            unit_charge(machine, unit, slot, bytes) < 0)
                _exit(1);
        if (is_busy && timeline_channel(machine, slot, unit, &channel) == 0) {
                struct timeline_op op = { .engine = ENGINE_COMPUTE,
                                          .duration_ns = UINT64_C(3600000000000) };
                timeline_submit(machine, channel, &op, &ref);
        }
        if (write(ready, "!", 1) != 1)
                _exit(1);
        for (;;)
                pause();
}

/* Starts it and returns when it is there. End it with neighbour_kill(). */
static inline pid_t neighbour(unsigned unit, uint64_t bytes, bool is_busy)
{
        int ready[2];
        char byte;

        CHECK_EQ(pipe(ready), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
                neighbour_live(unit, bytes, is_busy, ready[1]);
        close(ready[1]);
        CHECK_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        return child;
}

static inline void neighbour_kill(pid_t child)
{
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0)
                ;
}

/* A structure between two walls; the callee must not touch them. */
#define CANARY 0xa5
#define WALLED(type)                      \
        struct {                          \
                unsigned char before[64]; \
                type value;               \
                unsigned char after[256]; \
        }
#define WALL(walled) memset(&(walled), CANARY, sizeof(walled))
#define CHECK_WALLS(walled)                                  \
        (wall_check((walled).before, sizeof(walled).before), \
         wall_check((walled).after, sizeof(walled).after))

static inline void wall_check(const unsigned char *wall, size_t bytes)
{
        for (size_t i = 0; i < bytes; i++)
                CHECK_EQ(wall[i], CANARY);
}
