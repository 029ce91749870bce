/* SPDX-License-Identifier: Apache-2.0 */
/* load: how busy a GPU is, and what follows from it: clocks, power, temperature. */
#pragma once

#include "target.h"

struct load {
        double compute; /* busy share of the last moments, 0…1 */
        double in, out; /* of the copy engines */
        bool is_held;   /* a process has a context */
        unsigned sm_mhz, memory_mhz, video_mhz;
        unsigned pstate;
        unsigned power_mw;
        unsigned temperature_c, memory_temperature_c;
};

/* Of the whole GPU, also for a MIG device: clocks and power are common. */
void load_of_gpu(const struct target *target, struct load *ret_load);

/* 0…1 as a whole percent; a unit that works at all shows at least 1. */
unsigned load_percent(double share);
unsigned load_memory_percent(const struct load *load);

/* Of a video engine, where the GPU or a process computes so much. */
unsigned load_video_percent(unsigned compute_percent);

/* Since the machine was made, in millijoules. */
uint64_t load_energy_mj(const struct target *target);

#define LOAD_WINDOW_NS UINT64_C(320000000)
