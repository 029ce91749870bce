/* SPDX-License-Identifier: Apache-2.0 */
/* paths: the folders for what `vgpu run` makes, and what lies next to this program. */
#pragma once

#include <stddef.h>

#include "err.h"

enum { PATHS_FOLDERS = 3 };

/* The folders for shares and machines of `vgpu run`, best first; those that cannot be written are left out,
 * and a runtime folder of another user than this one and root. Returns how many. */
size_t paths_run_folders(const char *ret_folders[PATHS_FOLDERS]);

/* The folder with the simulated libcuda.so.1: VGPU_SIM_LIB, else next to this program. NULL: there is
 * none, says `e`. The caller frees it. */
char *paths_sim_library(struct err *e);

/* The path of a program in this program's own folder, whether it exists or not. NULL: out of memory.
 * The caller frees it. */
char *paths_beside(const char *program);

/* libvgpu.so: VGPU_LIB, else next to this program. NULL: there is none, says `e`. The caller frees it. */
char *paths_preload_library(struct err *e);
