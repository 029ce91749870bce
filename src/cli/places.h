/* Where machines of `vgpu run --sim` live, and where the simulated libraries are. */
#pragma once

#include <stddef.h>

enum { PLACES = 3 };

/* The folders for short-lived machines, best first; those that cannot be written are left out.
 * Returns how many. */
size_t places_list(const char *ret_places[PLACES]);

/* The folder with the simulated libcuda.so.1: VGPU_SIM_LIB, else next to this program. NULL: none.
 * The caller frees it. */
char *places_sim_library(void);
