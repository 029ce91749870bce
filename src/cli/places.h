/* Where machines of `vgpu run --sim` live, and what lies next to this program. */
#pragma once

#include <stddef.h>

#include "err.h"

enum { PLACES = 3 };

/* The folders for short-lived machines, best first; those that cannot be written are left out.
 * Returns how many. */
size_t places_list(const char *ret_places[PLACES]);

/* The folder with the simulated libcuda.so.1: VGPU_SIM_LIB, else next to this program. NULL: there is
 * none, says `e`. The caller frees it. */
char *places_sim_library(struct err *e);

/* The path of a program in this program's own folder, whether it exists or not. NULL: out of memory.
 * The caller frees it. */
char *places_beside(const char *program);

/* libvgpu.so: VGPU_LIB, else next to this program. NULL: there is none, says `e`. The caller frees it. */
char *places_preload_library(struct err *e);
