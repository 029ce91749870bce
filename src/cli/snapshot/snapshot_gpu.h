/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of a snapshot and who is on them, as drivers tell: simulated machines, else libnvidia-ml.so.1. */
#pragma once

#include "snapshot.h"

/* Adds the GPUs of the driver that programs of this user would find, those of simulated machines with
 * programs on them, and those that shares name. `processes` is a vec of struct gpu_process. */
void snapshot_gpus_find(struct snapshot *snapshot, const struct snapshot_scope *scope,
                        struct vec *processes);

/* Adds what libnvidia-ml.so.1 tells; false: there is none. */
bool snapshot_nvml_add(struct snapshot *snapshot, struct vec *processes);
/* Which machines count: the one that is asked for by name; one that has processes, or a GPU that a share of
 * the snapshot has; one that has such a GPU. */
enum machine_wanted { MACHINE_ASKED, MACHINE_USED, MACHINE_SHARED };
