/* SPDX-License-Identifier: Apache-2.0 */
/* process_list: the processes on a device, as the slots of the machine show them. */
#pragma once

#include "target.h"
#include "vec.h"

struct process {
        unsigned pid;
        uint64_t bytes;
        unsigned gpu_instance, compute_instance; /* NVML_ID_NONE: not MIG */
        unsigned unit;
        uint32_t channel; /* index + 1, 0: none */
        uint32_t list;    /* enum machine_list */
        const char *path;
};

/* Reaps the dead, then lists the living that hold a context or memory on the target (for a GPU in
 * MIG mode: on its instances too). The caller ends the vec of struct process. */
nvmlReturn_t process_list(const struct target *target, struct vec *ret_list);

/* Whole percent of the unit's time that the process had over the window. */
unsigned process_percent(const struct target *target, const struct process *process,
                         uint64_t window_ns);
