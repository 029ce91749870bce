/* SPDX-License-Identifier: Apache-2.0 */
/* nearby: what comes with the program that runs, in the build's folders or where both were installed. */
#pragma once

#include "err.h"

enum nearby_piece {
        NEARBY_PRELOAD,    /* libvgpu.so */
        NEARBY_SIM_DRIVER, /* the folder with the simulated libcuda.so.1 and libnvidia-ml.so.1 */
};

/* The path, which is the caller's to free; NULL: it is not there. */
char *nearby_find(enum nearby_piece piece);
/* The same, but where its variable (VGPU_LIB, VGPU_SIM_LIB) says, which is `chosen`; NULL and "" say nothing.
 * NULL with a sentence. */
char *nearby_choose(enum nearby_piece piece, const char *chosen, struct err *e);
/* A program in the folder of this one, there or not; NULL: the folder cannot be told. */
char *nearby_program(const char *name);

/* Loads a library of the driver: the simulated one's where VGPU_SIM names a machine, else by its name.
 * NULL: there is none. It stays loaded. */
void *nearby_driver(const char *name);
