/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of this machine, real or simulated, by UUID. One that is cut into MIG devices is not among them:
 * they are, each for itself. */
#pragma once

#include "err.h"
#include "gpu_page.h"
#include "limits_environment.h"
#include "share_layout.h"

enum { GPUS_SEEN = SHARE_DEVICES * 2 };

struct gpu_list {
        unsigned count;
        char uuids[SHARE_DEVICES][SHARE_UUID];
        struct gpu_device devices[SHARE_DEVICES];
        /* All that NVML lists: those that are cut, too, and their MIG devices. */
        unsigned seen_count;
        struct limits_gpu seen[GPUS_SEEN];
        char machine[GPU_PAGE_MACHINE]; /* two machines may have GPUs of the same UUIDs */
};

/* From a machine file. */
int gpus_simulated(const char *machine_path, struct gpu_list *ret_list, struct err *e);
/* From the libnvidia-ml.so.1 that a program would find. */
int gpus_real(struct gpu_list *ret_list, struct err *e);
